//! The size, the cost and the room left of a request.

use context_core::model::{FunctionTool, TokenCount, TokenCounter};
use context_core::{Json, Message, ModelRequest};
use context_tokens::{Budget, Estimate, ModelTable, Pressure, WindowSource};

fn request() -> ModelRequest {
    let schema =
        Json::from_text(r#"{"type":"object","properties":{"city":{"type":"string"}}}"#).unwrap();
    ModelRequest::new([Message::from("Two tickets to Lisbon, please.")])
        .system("You book trips.")
        .tools([FunctionTool::new("book", schema).description("Books a trip.")])
}

#[test]
fn a_request_by_its_parts() {
    let model = ModelTable::builtin().model("gpt-4o");
    let counter = model.counter();
    let pieces = [("role", "You book trips."), ("hint", "Prices are in EUR.")];
    let estimate = Estimate::new(&request(), &counter, &model).with_fragments(pieces, &counter);
    assert_eq!(estimate.fragments[0].tokens, counter.count("You book trips."));
    assert_eq!(estimate.request.system, TokenCount::exact(4));
    assert!(estimate.request.tools.tokens() > 10);
    assert_eq!(estimate.total, estimate.request.total());
    // The maximum output is reserved for the answer.
    assert_eq!(estimate.budget, Some(Budget::new(128_000, 16_384)));
    assert_eq!(estimate.left.unwrap().tokens(), 128_000 - 16_384 - estimate.total.tokens());
    let cost = estimate.input_cost.clone().unwrap();
    assert!(cost.low <= cost.amount && cost.amount <= cost.high && cost.high < 0.01);
    assert_eq!(estimate.fits(), Some(true));
    assert!(serde_json::to_value(&estimate).unwrap()["request"]["system"]["tokens"] == 4);
}

#[test]
fn what_is_sent_as_the_most_output_is_the_reserve() {
    let model = ModelTable::builtin().model("gpt-4o");
    let estimate = Estimate::new(&request().max_output_tokens(500), &model.counter(), &model);
    assert_eq!(estimate.budget.unwrap().reserve, 500);
}

#[test]
fn what_the_model_writes_at_most_is_no_reason_to_leave_no_room() {
    let model = ModelTable::builtin().model("claude-sonnet-4-5");
    let estimate = Estimate::new(&request(), &model.counter(), &model);
    assert_eq!(estimate.budget, Some(Budget::new(200_000, 50_000)));
    let estimate = estimate.with_budget(model.budget(Some(32_000), None).unwrap());
    assert_eq!((estimate.budget, estimate.missing()), (Some(Budget::new(32_000, 8_000)), 0));
    assert_eq!(estimate.window_source, Some(WindowSource::Given));
}

#[test]
fn what_is_missing_is_counted() {
    let model = ModelTable::builtin().model("gpt-4o");
    let estimate = Estimate::new(&request(), &model.counter(), &model);
    let total = estimate.total.tokens();
    assert_eq!(estimate.clone().with_budget(Budget::new(total + 9, 10)).missing(), 1);
    assert_eq!(estimate.with_budget(Budget::new(total + 10, 10)).missing(), 0);
}

#[test]
fn a_window_within_the_interval_is_no_promise() {
    let table = |window: u64| {
        let json = format!(
            r#"{{"as_of":"d","currency":"USD","families":{{}},"models":{{"m":{{"family":"claude","window":{window}}}}}}}"#
        );
        ModelTable::from_json(&json).unwrap()
    };
    let request = ModelRequest::new([Message::from("word ".repeat(1_000))]);
    let fits = |window| {
        let table = table(window);
        let model = table.model("m");
        Estimate::new(&request, &model.counter(), &model).fits()
    };
    assert_eq!(fits(100), Some(false));
    assert_eq!(fits(1_200), None);
    assert_eq!(fits(10_000), Some(true));
    let unknown = ModelTable::builtin().model("nobody-knows");
    let estimate = Estimate::new(&request, &unknown.counter(), &unknown);
    assert_eq!((estimate.fits(), estimate.input_cost, estimate.left), (None, None, None));
}

#[test]
fn a_reserve_larger_than_the_window_leaves_one_token() {
    let budget = Budget::new(1_000, 2_000);
    assert_eq!((budget.input(), budget.ratio(10)), (1, 10.0));
    assert_eq!(budget.pressure(10), Pressure::Full);
    assert_eq!(budget.left(TokenCount::estimate(10, 0, 20)), TokenCount::estimate(0, 0, 1));
}
