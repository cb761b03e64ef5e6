//! The OpenAPI description is true: every path of it is there, and every answer has its shape.

use serde_json::Value;

use super::Api;

#[tokio::test]
async fn every_described_path_is_there() {
    let api = Api::new().await;
    let description = api.get("/openapi.json").await.ok();
    assert_eq!(description["openapi"], "3.1.0");
    let mut operations = Vec::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let filled = path
                .replace("{chat}", "c")
                .replace("{message}", "m")
                .replace("{turn}", "t")
                .replace("{stream}", "s");
            let method = method.to_uppercase();
            let answer = api.send("root", &method, &filled, &[], None).await;
            assert_ne!(answer.status, 405, "{method} {path}");
            assert!(!answer.text.contains("nothing at this path"), "{method} {path}");
            operations.push(operation["operationId"].as_str().unwrap().to_owned());
            assert!(operation["summary"].is_string(), "{method} {path} says what it does");
            let parameters = operation["parameters"].as_array();
            for parameter in parameters.into_iter().flatten() {
                assert!(parameter["description"].is_string(), "{path}: {parameter}");
                assert!(parameter["schema"]["type"].is_string(), "one type: {path}: {parameter}");
            }
            for (status, answer) in operation["responses"].as_object().unwrap() {
                assert!(answer["description"].is_string(), "{method} {path}: {status}");
            }
        }
    }
    let all = operations.len();
    operations.sort();
    operations.dedup();
    assert_eq!(operations.len(), all, "each operation has a name of its own");
    assert!(all > 25, "{all}");
}

#[tokio::test]
async fn every_reference_of_the_description_leads_somewhere() {
    fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::Object(map) => {
                found.extend(map.get("$ref").and_then(Value::as_str));
                map.values().for_each(|value| references(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let description: Value = serde_json::from_str(&context_server::Service::description()).unwrap();
    let mut found = Vec::new();
    references(&description, &mut found);
    assert!(found.len() > 50);
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(description.pointer(pointer).is_some(), "{reference}");
    }
}

/// A generator of clients reads an object without further properties as one that has none.
#[tokio::test]
async fn free_objects_and_times_are_described_as_they_are_sent() {
    fn check(value: &Value, path: &str) {
        match value {
            Value::Object(map) => {
                let is_bare = map.get("type").is_some_and(|kind| {
                    kind == "object"
                        || kind.as_array().is_some_and(|it| it.contains(&"object".into()))
                });
                let says =
                    map.contains_key("properties") || map.contains_key("additionalProperties");
                assert!(!is_bare || says, "{path}: an object of any properties says so");
                map.iter().for_each(|(key, value)| check(value, &format!("{path}/{key}")));
            }
            Value::Array(list) => list.iter().for_each(|value| check(value, path)),
            _ => {}
        }
    }
    let api = Api::new().await;
    let description = api.get("/openapi.json").await.ok();
    check(&description["components"]["schemas"], "");
    let made = api.send("ada", "PUT", "/v1/chats/c", &[], Some(serde_json::json!({}))).await.ok();
    assert!(made["created_at"].is_i64());
    let described = "/components/schemas/ChatOverview/properties/created_at/type";
    assert_eq!(description.pointer(described).unwrap(), "integer");
}
