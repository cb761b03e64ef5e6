//! The process of a scenario: open rounds over files in a folder of its own.

mod disk;
mod recorded_format;

use std::collections::BTreeMap;
use std::sync::Arc;

use context_runtime::trajectory::{
    Changes, EdgeNames, FieldValue, FileChannel, NewNode, NewQuery, NodeBody, NodeId, NodeRemoval,
    OpenOptions, OpenRound, QueueItem, QueueName, RecordError, Round, Trajectories, Trajectory,
    TrajectoryError, TrajectoryNodeKind,
};
use context_runtime::{
    Clock, IdGenerator, JsonMap, Timestamp,
    store::TrajectoryStore,
    trajectory::{AgentRef, RoundRef},
};
use serde_json::{Value, json};

use recorded_format::{defaults, in_all, record, title};

/// The generation whose format is used for values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Newest,
    Seed,
}

#[derive(Debug)]
struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_000_000)
    }
}

#[derive(Debug, Default)]
struct CountedIds(std::sync::atomic::AtomicU64);

impl IdGenerator for CountedIds {
    fn next_id(&self) -> String {
        format!("key-{}", self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
    }
}

/// Every supported operation.
pub(crate) const OPERATIONS: &[&str] = &[
    "acyclic",
    "add_edge",
    "config",
    "connected",
    "delete_file",
    "file_is_valid_json",
    "get",
    "make_file",
    "modify",
    "modify_unserialisable",
    "new_sub",
    "next_data",
    "node",
    "open",
    "persist",
    "persist_meta",
    "pop",
    "push",
    "push_many",
    "push_raw",
    "query",
    "queue_init",
    "read_file",
    "release",
    "remove",
    "restart",
    "restore",
    "same_instance",
    "trim",
    "truncate_file",
];

pub(crate) struct World {
    form: Form,
    folder: tempfile::TempDir,
    channel: Arc<FileChannel>,
    process: Trajectories,
    ids: Arc<CountedIds>,
    current: Option<OpenRound>,
    /// Rounds whose past was requested.
    restored: Vec<RoundRef>,
    configuration: JsonMap,
    /// The expected content of the disk after a restart: the last acknowledged state of each round.
    acknowledged: BTreeMap<RoundRef, Arc<Round>>,
    problems: Vec<String>,
}

/// The error of an operation.
struct Refusal(String);

impl From<TrajectoryError> for Refusal {
    fn from(error: TrajectoryError) -> Self {
        Self(error.code().to_owned())
    }
}

impl From<RecordError> for Refusal {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Refused(error) => error.into(),
            other => Self(format!("{other}")),
        }
    }
}

fn refusal(code: &str) -> Refusal {
    Refusal(code.to_owned())
}

type Answer = Result<Value, Refusal>;

impl World {
    pub(crate) fn new(form: Form) -> Result<Self, std::io::Error> {
        let folder = tempfile::tempdir()?;
        let ids = Arc::new(CountedIds::default());
        let channel = Arc::new(FileChannel::new(folder.path().join("rounds")));
        let process = start(&channel, &ids);
        Ok(Self {
            form,
            folder,
            channel,
            process,
            ids,
            current: None,
            restored: Vec::new(),
            configuration: JsonMap::default(),
            acknowledged: BTreeMap::new(),
            problems: Vec::new(),
        })
    }

    /// Problems that no recorded value shows.
    pub(crate) fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Runs one operation. Returns `{"ok": …}` or `{"err": …}`.
    pub(crate) async fn run(&mut self, operation: &Value) -> Value {
        let Some((name, input)) =
            operation.as_object().and_then(|operation| operation.iter().next())
        else {
            return json!({ "err": "unknown_operation" });
        };
        let before = self.current.clone().map(|context| (context.round(), context));
        match self.operation(name, input, operation).await {
            Ok(value) => {
                if let Some(context) = &self.current {
                    if context.unsaved() > 0 {
                        self.problems.push(format!("{name} returned before it was on disk"));
                    }
                    self.acknowledged.insert(context.reference().clone(), context.round());
                    // An earlier round may have changed too.
                    if name == "modify"
                        && let Ok(all) = context.trajectory().await
                    {
                        self.acknowledged.extend(
                            all.rounds().map(|round| (round.round().clone(), round.clone())),
                        );
                    }
                }
                json!({ "ok": value })
            }
            Err(Refusal(code)) => {
                if let Some((before, context)) = before
                    && before.to_record() != context.round().to_record()
                {
                    self.problems
                        .push(format!("{name} was refused ({code}) and changed the round"));
                }
                json!({ "err": code })
            }
        }
    }

    async fn operation(&mut self, name: &str, input: &Value, operation: &Value) -> Answer {
        match name {
            "open" => {
                self.current = Some(self.open(input).await?);
                Ok(Value::Null)
            }
            "same_instance" => {
                let context = self.open(input).await?;
                Ok(json!(self.current.as_ref().is_some_and(|current| current.is_same(&context))))
            }
            "restart" => {
                self.current = None;
                self.channel = Arc::new(FileChannel::new(self.folder.path().join("rounds")));
                self.process = start(&self.channel, &self.ids);
                self.restored.clear();
                Ok(Value::Null)
            }
            "config" => {
                self.configuration =
                    serde_json::from_value(input.clone()).map_err(|_| refusal("bad_config"))?;
                Ok(Value::Null)
            }
            "make_file" => self.make_file(input),
            "read_file" => {
                let path = self.path(input["path"].as_str().or(input.as_str()).unwrap_or_default());
                std::fs::read_to_string(path).map(Value::from).map_err(|_| refusal("no_such_file"))
            }
            "delete_file" | "truncate_file" => self.damage(name, input),
            "release" => Ok(json!(self.release(input))),
            "new_sub" => self.new_sub().await,
            _ => {
                let context = self.current.clone().ok_or_else(|| refusal("no_context"))?;
                self.in_context(&context, name, input, operation).await
            }
        }
    }

    async fn in_context(
        &mut self,
        context: &OpenRound,
        name: &str,
        input: &Value,
        operation: &Value,
    ) -> Answer {
        match name {
            "query" => {
                let files = strings(&operation["files"]);
                let files = files.into_iter().map(|file| self.in_folder(&file));
                let text = self.in_folder(input.as_str().unwrap_or_default());
                let id = context.ask(NewQuery::new(text).files(files)).await?;
                Ok(json!(title(&context.round(), id)))
            }
            "node" => self.node(context, input, operation).await,
            "modify" => {
                let id = self.resolve(context, input).await?;
                context.change(id, &changes(&operation["changes"])).await?;
                Ok(Value::Null)
            }
            // A value that cannot be written as JSON cannot be constructed.
            "modify_unserialisable" => Err(refusal("cannot_be_said")),
            "remove" => {
                let id = self.resolve(context, input).await?;
                context.remove(id, NodeRemoval::Leaf).await?;
                Ok(Value::Null)
            }
            "add_edge" => {
                let [from, to] = [
                    self.resolve(context, &input[0]).await?,
                    self.resolve(context, &input[1]).await?,
                ];
                if to.round == context.reference().round {
                    context.connect(from, to, input[2].as_str()).await?;
                } else {
                    context.refer(from, to).await?;
                }
                Ok(Value::Null)
            }
            "restore" => {
                context.trajectory().await?;
                self.restored.push(context.reference().clone());
                Ok(Value::Null)
            }
            "persist" => Ok(self.persisted(&context.round())),
            "persist_meta" => Ok(self.meta(&context.round())),
            "file_is_valid_json" => {
                let loaded =
                    self.channel.load_rounds(&context.reference().agent, 0..=u32::MAX).await;
                Ok(json!(loaded.is_ok()))
            }
            "acyclic" => {
                let all = self.seen(context).await?;
                Ok(json!(all.order().count() == all.len()))
            }
            "connected" => {
                let all = self.seen(context).await?;
                let root = all.root().map(|root| root.id);
                Ok(json!(
                    all.nodes()
                        .all(|node| Some(node.id) == root || !all.predecessors(node.id).is_empty())
                ))
            }
            "trim" => {
                let all = self.seen(context).await?;
                let pruned = all.pruned();
                let mut nodes: Vec<String> = pruned
                    .nodes
                    .iter()
                    .filter_map(|id| all.node(*id))
                    .map(|node| node.title().to_string())
                    .collect();
                nodes.sort();
                let mut edges: Vec<[String; 2]> = pruned
                    .edges
                    .iter()
                    .map(|edge| [edge.from, edge.to].map(|id| in_all(&all, id)))
                    .collect();
                edges.sort();
                Ok(json!({ "nodes": nodes, "edges": edges }))
            }
            "get" => {
                let all = self.seen(context).await?;
                let node = all.resolve(input.as_str().unwrap_or_default())?;
                Ok(record(node, &strings(&operation["fields"])))
            }
            "next_data" => {
                let all = self.seen(context).await?;
                let id = all.resolve(input.as_str().unwrap_or_default())?.id;
                let data = all.data_of(id)?;
                let named =
                    |id: NodeId| all.node(id).map(|node| format!("{}:{}", node.kind(), node.label));
                let mut data: Vec<String> = data.into_iter().filter_map(named).collect();
                data.sort();
                Ok(json!(data))
            }
            "queue_init" => {
                context.load_queues(&self.configuration).await?;
                let queues = context.queues();
                let lengths = |name: QueueName| queues.get(name).len();
                Ok(match self.form {
                    Form::Newest => {
                        json!({ "pre": lengths(QueueName::Pre), "post": lengths(QueueName::Post) })
                    }
                    Form::Seed => json!({
                        "pre": lengths(QueueName::Pre), "todo": lengths(QueueName::Todo),
                            "post": lengths(QueueName::Post)
                    }),
                })
            }
            "push" => {
                let mut item = QueueItem::new(operation["name"].as_str().unwrap_or_default());
                item.params =
                    serde_json::from_value(operation["params"].clone()).unwrap_or_default();
                Ok(json!(context.push(queue(input)?, item).await?))
            }
            "push_raw" => {
                let item = serde_json::from_value(operation["item"].clone())
                    .map_err(|_| refusal("bad_step"))?;
                Ok(json!(context.push(queue(input)?, item).await?))
            }
            "push_many" => {
                let (queue, count) =
                    (queue(input)?, operation["count"].as_u64().unwrap_or_default());
                let mut accepted = 0;
                for number in 0..count {
                    accepted +=
                        u64::from(context.push(queue, QueueItem::new(format!("n{number}"))).await?);
                }
                Ok(json!({ "accepted": accepted, "refused": count - accepted }))
            }
            "pop" => Ok(match (context.pop(queue(input)?).await?, self.form) {
                (Some(item), _) => json!({ "name": item.name, "params": item.params }),
                (None, Form::Newest) => json!({}),
                (None, Form::Seed) => Value::Null,
            }),
            _ => Err(refusal("unknown_operation")),
        }
    }

    async fn open(&self, input: &Value) -> Result<OpenRound, Refusal> {
        let options = OpenOptions::new().edge_names(EdgeNames::Any);
        Ok(self.process.open(&reference(input), options).await?)
    }

    async fn node(&self, context: &OpenRound, kind: &Value, operation: &Value) -> Answer {
        let kind = TrajectoryNodeKind::from_name(kind.as_str().unwrap_or_default())?;
        let mut after = Vec::new();
        for before in operation["pred"].as_array().into_iter().flatten() {
            after.push(match self.resolve(context, before).await {
                Ok(id) => id,
                // No node has this number, so the round itself refuses it.
                Err(_) => NodeId::new(context.reference().round, u32::MAX),
            });
        }
        let mut fields = defaults(kind);
        if let Some(given) = operation["fields"].as_object() {
            let known: Vec<String> = fields.keys().cloned().collect();
            for (name, value) in given {
                let place = known.iter().find(|known| {
                    kind.field(known) == kind.field(name) && kind.field(name).is_some()
                });
                fields.insert(place.unwrap_or(name).clone(), value.clone().into());
            }
        }
        let mut new = NewNode::new(NodeBody::new(kind, &fields)?, after);
        if let Some(name) = operation["edge"].as_str() {
            new = new.edge(name);
        }
        if let Some(label) = operation["label"].as_str() {
            new = new.label(label);
        }
        if let Some(text) = operation["desc"].as_str() {
            new = new.describe(text);
        }
        if operation["add_pt"] == true {
            new = new.append();
        }
        if operation["remove_pt"] == true {
            new = new.close();
        }
        let id = context.add(new).await?;
        Ok(json!(title(&context.round(), id)))
    }

    /// Returns the node that a text names, in this round or an earlier one.
    async fn resolve(&self, context: &OpenRound, text: &Value) -> Result<NodeId, Refusal> {
        Ok(context.trajectory().await?.resolve(text.as_str().unwrap_or_default())?.id)
    }

    /// Returns the rounds that the scenario sees. The past is included only if it was requested.
    async fn seen(&self, context: &OpenRound) -> Result<Trajectory, Refusal> {
        if self.restored.contains(context.reference()) {
            return Ok(context.trajectory().await?);
        }
        Ok(Trajectory::new([context.round()], Default::default()))
    }

    async fn new_sub(&mut self) -> Answer {
        let parent = self.current.clone().ok_or_else(|| refusal("sub_required"))?;
        let node = parent.round().endpoints().next().ok_or_else(|| refusal("no_query_yet"))?;
        let options = OpenOptions::new().edge_names(EdgeNames::Any);
        let context = self.process.open_sub_agent(&parent, node, options).await?;
        Ok(json!(context.reference().agent.agent))
    }

    fn release(&mut self, input: &Value) -> usize {
        let number = |key: &str| input[key].as_u64().map(|number| number as u32);
        self.current = None;
        let user = input["user"].as_str().unwrap_or("u").into();
        let session = input["session"].as_str().map(Into::into);
        self.process.release(&user, session.as_ref(), number("run"), number("sub"))
    }
}

fn start(channel: &Arc<FileChannel>, ids: &Arc<CountedIds>) -> Trajectories {
    // A channel of its own, so that the rounds of the process before are not shared.
    let store: Arc<dyn TrajectoryStore> = Arc::new((**channel).clone());
    let builder = Trajectories::over(store).clock(Arc::new(FixedClock)).ids(ids.clone());
    builder.build().expect("a channel is there")
}

fn reference(input: &Value) -> RoundRef {
    let number = |key: &str| input[key].as_u64().unwrap_or_default() as u32;
    let name = |key: &str, usual: &'static str| input[key].as_str().unwrap_or(usual).to_owned();
    AgentRef::new(name("user", "u"), name("session", "s"), number("sub")).round(number("run"))
}

fn strings(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}

fn queue(name: &Value) -> Result<QueueName, Refusal> {
    Ok(name.as_str().unwrap_or_default().parse::<QueueName>()?)
}

fn changes(changes: &Value) -> Changes {
    let changes = changes.as_object().into_iter().flatten();
    changes.map(|(name, value)| (name.as_str(), FieldValue::from(value.clone()))).collect()
}
