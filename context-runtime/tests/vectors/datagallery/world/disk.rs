//! The files of a scenario: created, damaged, and reopened.

use std::path::PathBuf;
use std::sync::Arc;

use context_runtime::trajectory::{AgentRef, EdgeNames, FileChannel, OpenOptions};
use serde_json::Value;

use super::{Answer, World, refusal, start};

impl World {
    pub(super) fn path(&self, text: &str) -> PathBuf {
        PathBuf::from(self.in_folder(text))
    }

    pub(super) fn in_folder(&self, text: &str) -> String {
        text.replace("${TMP}", &self.folder.path().display().to_string())
    }

    pub(super) fn make_file(&self, input: &Value) -> Answer {
        let path = self.path(input["path"].as_str().or(input.as_str()).unwrap_or_default());
        let content = input["content"].as_str().or(input["text"].as_str()).unwrap_or_default();
        let parent = path.parent().map(std::fs::create_dir_all).transpose();
        parent.and_then(|_| std::fs::write(&path, content)).map_err(|_| refusal("no_such_file"))?;
        Ok(Value::Null)
    }

    /// Damages our files of a round as the recorded files were damaged.
    pub(super) fn damage(&mut self, name: &str, input: &Value) -> Answer {
        let file = input["file"]
            .as_str()
            .or(input["path"].as_str())
            .or(input.as_str())
            .unwrap_or_default();
        let numbers = file.strip_prefix("Run").and_then(|rest| rest.split_once("_Sub"));
        let numbers = numbers.and_then(|(run, rest)| {
            Some((run.parse().ok()?, rest.split('.').next()?.parse().ok()?))
        });
        let Some((run, sub)): Option<(u32, u32)> = numbers else {
            return Err(refusal("no_such_file"));
        };
        let current = self.current.as_ref().map(|context| context.reference().agent.clone());
        let known = self
            .acknowledged
            .keys()
            .find(|known| known.round == run && known.agent.agent == sub)
            .cloned();
        let agent =
            known.map(|known| known.agent).or(current).ok_or_else(|| refusal("no_such_file"))?;
        let agent = AgentRef { agent: sub, ..agent };
        let folder = self
            .folder
            .path()
            .join("rounds")
            .join(agent.user.as_str())
            .join(agent.session.as_str());
        let files = std::fs::read_dir(folder).map_err(|_| refusal("no_such_file"))?;
        let of_round = format!("agent-{sub}.round-{run}.");
        for path in files.flatten().map(|file| file.path()) {
            if !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&of_round)) {
                continue;
            }
            match name {
                "delete_file" => drop(std::fs::remove_file(&path)),
                _ => {
                    let bytes = std::fs::read(&path).unwrap_or_default();
                    drop(std::fs::write(&path, &bytes[..bytes.len() / 2]));
                }
            }
        }
        // Data destroyed from outside need not survive.
        self.acknowledged.remove(&agent.round(run));
        Ok(Value::Null)
    }

    /// Returns the problems after everything is reopened.
    pub(crate) async fn after_restart(&mut self) -> Vec<String> {
        self.current = None;
        self.channel = Arc::new(FileChannel::new(self.folder.path().join("rounds")));
        self.process = start(&self.channel, &self.ids);
        let mut problems = Vec::new();
        for (reference, before) in &self.acknowledged {
            if before.revision() == 0 {
                continue;
            }
            let options = OpenOptions::new().edge_names(EdgeNames::Any);
            let context = match self.process.open(reference, options).await {
                Ok(context) => context,
                Err(error) => {
                    problems.push(format!("{reference} does not open: {error}"));
                    continue;
                }
            };
            if context.round().to_record() != before.to_record() {
                problems.push(format!("{reference} is not what was acknowledged"));
            }
            match context.trajectory().await {
                Ok(all) => {
                    let root = all.root().map(|root| root.id);
                    let lost = all
                        .nodes()
                        .find(|node| Some(node.id) != root && all.predecessors(node.id).is_empty());
                    problems.extend(lost.map(|node| format!("nothing leads to {}", node.title())));
                    if all.order().count() != all.len() {
                        problems.push(format!("{reference} has a cycle"));
                    }
                }
                Err(error) => {
                    problems.push(format!("the past of {reference} does not open: {error}"))
                }
            }
        }
        problems
    }
}
