//! Wordings that contain numbers, and the meaning of the numbers.
//!
//! For each kind of number the first matching wording counts, so specific wordings come before
//! general ones.

use super::body::{Body, Count};
use super::duration;
use super::pattern::captures;
use context_core::ModelError;
use context_core::model::ImageLimits;

/// The meaning of a number in a wording.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fact {
    /// A number that is not needed.
    Other,
    Window,
    Input,
    /// Input plus requested output.
    Total,
    /// Requested output.
    Asked,
    MaxOutput,
    /// The exclusive upper bound of the output.
    OutputEnd,
    Available,
    ImageCount,
    /// The exclusive upper bound of the number of images.
    ImageEnd,
    ImageBytes,
    ImagePixels,
}

use Fact::{
    Asked, Available, ImageBytes, ImageCount, ImageEnd, ImagePixels, Input, MaxOutput, Other,
    OutputEnd, Total, Window,
};

const WORDINGS: [(&str, &[Fact]); 92] = [
    // Anthropic.
    ("exceed context limit: # + # > #", &[Input, Asked, Window]),
    ("prompt is too long: # tokens > # maximum", &[Input, Window]),
    ("max tokens: # > #, which is the maximum", &[Asked, MaxOutput]),
    // OpenAI and providers with its wordings. Their second halves differ.
    ("maximum context length is # tokens", &[Window]),
    ("maximum context length of # tokens", &[Window]),
    ("maximum context length is #", &[Window]),
    ("maximum context length of #", &[Window]),
    ("maximum context length (#", &[Window]),
    ("maximum context length: #", &[Window]),
    ("input tokens exceed the configured limit of # tokens", &[Window]),
    ("messages resulted in # tokens", &[Input]),
    (
        "you requested a total of # tokens: # tokens from the input messages and # tokens for the completion",
        &[Total, Input, Asked],
    ),
    (
        "you requested # output tokens and your prompt contains at least # input tokens",
        &[Asked, Input],
    ),
    ("you requested # output tokens", &[Asked]),
    ("you requested about # tokens", &[Total]),
    ("you requested # tokens", &[Total]),
    ("# in the completion", &[Asked]),
    ("# for the completion", &[Asked]),
    ("# in the output", &[Asked]),
    ("# in the messages", &[Input]),
    ("# in your prompt", &[Input]),
    ("your request has # input tokens", &[Input]),
    ("prompt contains at least # input tokens", &[Input]),
    (
        "max tokens is too large: #. this model supports at most # completion tokens",
        &[Asked, MaxOutput],
    ),
    ("supports at most # completion tokens", &[MaxOutput]),
    ("max tokens is too large: #", &[Asked]),
    ("max tokens*expected a value <= #", &[MaxOutput]),
    // NVIDIA.
    ("passed # input tokens and requested # output tokens", &[Input, Asked]),
    ("context length is only # tokens", &[Window]),
    ("context length of only # tokens", &[Window]),
    // vLLM.
    ("prompt (length #) is longer than the maximum model length of #", &[Input, Window]),
    ("maximum model length of #", &[Window]),
    ("maximum model length is #", &[Window]),
    // Google.
    ("input token count (#) exceeds the maximum number of tokens allowed (#)", &[Input, Window]),
    ("input token count*exceeds the maximum number of tokens allowed*#", &[Window]),
    ("input token count is #", &[Input]),
    ("supports up to # tokens", &[Window]),
    ("max tokens*supported range is from # (inclusive) to # (exclusive)", &[Other, OutputEnd]),
    ("max tokens*supported range is from # (inclusive) to # (inclusive)", &[Other, MaxOutput]),
    // xAI.
    ("maximum prompt length is # but the request contains # tokens", &[Window, Input]),
    ("maximum prompt length is #", &[Window]),
    // Amazon.
    ("max input tokens: #, request input token count: #", &[Window, Input]),
    ("maximum tokens you requested exceeds the model limit of #", &[MaxOutput]),
    // Mistral.
    ("prompt contains # tokens", &[Input]),
    ("too large for model with # maximum context length", &[Window]),
    // Qwen.
    ("range of input length should be [#, #]", &[Other, Window]),
    ("range of max tokens should be [#, #]", &[Other, MaxOutput]),
    // DeepSeek.
    ("valid range of max tokens is [#, #]", &[Other, MaxOutput]),
    // Moonshot.
    ("exceeded model token limit: # (requested: #)", &[Window, Total]),
    ("exceeded model token limit: #", &[Window]),
    // GitHub.
    ("prompt token count of # exceeds the limit of #", &[Input, Window]),
    // SGLang, Together, SiliconFlow, Hugging Face.
    ("input length (# tokens) exceeds the maximum allowed length (# tokens)", &[Input, Window]),
    ("input length (#) exceeds models maximum context length (#)", &[Input, Window]),
    ("input (# tokens) is longer than the models context length (# tokens)", &[Input, Window]),
    ("number of input tokens (#) has exceeded max prompt tokens (#)", &[Input, Window]),
    (
        "inputs tokens + max tokens must be <= #. given: # inputs tokens and # max tokens",
        &[Window, Input, Asked],
    ),
    ("inputs must have less than # tokens. given: #", &[Window, Input]),
    ("validation error: max tokens must be <= #", &[MaxOutput]),
    ("maximum allowed input length of # tokens", &[Window]),
    // llama.cpp and servers based on it.
    ("request (# tokens) exceeds the available context size (# tokens)", &[Input, Window]),
    ("request (# tokens) exceeds the available context size (#)", &[Input, Window]),
    ("keep the first # tokens when context", &[Input]),
    ("(n keep: #>= n ctx: #)", &[Input, Window]),
    ("prompt has # tokens, but the configured context size is # tokens", &[Input, Window]),
    ("requested tokens (#) exceed context window of #", &[Total, Window]),
    // Cohere.
    ("cannot exceed # - received #", &[Window, Total]),
    // Any provider.
    ("context window of # tokens", &[Window]),
    ("context window is # tokens", &[Window]),
    ("context window (# tokens)", &[Window]),
    ("超*最大*#", &[Window]),
    ("最大*上下文*#", &[Window]),
    ("上下文*#", &[Window]),
    ("max tokens must be less than or equal to #", &[MaxOutput]),
    ("max tokens*exceeds the limit of #", &[MaxOutput]),
    ("max tokens*at most #", &[MaxOutput]),
    ("max tokens*between # and #", &[Other, MaxOutput]),
    ("max tokens*range*[#, #]", &[Other, MaxOutput]),
    ("max tokens*range*from # to #", &[Other, MaxOutput]),
    ("available tokens: #", &[Available]),
    ("available tokens*#", &[Available]),
    ("only afford #", &[Available]),
    // Images.
    ("images and documents: # + # > #", &[Other, Other, ImageCount]),
    ("document pages + # images > #", &[Other, ImageCount]),
    ("at most # image", &[ImageCount]),
    ("maximum of # image", &[ImageCount]),
    ("up to # image", &[ImageCount]),
    ("fewer than # image", &[ImageEnd]),
    ("too many images*max is #", &[ImageCount]),
    ("images*exceeding the maximum of #", &[ImageCount]),
    ("image count # exceeds limit #", &[Other, ImageCount]),
    ("image*bytes > @", &[ImageBytes]),
    ("image*max*size*: # pixels", &[ImagePixels]),
];

/// More image wordings, which name the image and the limit in any order.
const MORE: [(&str, &[Fact]); 10] = [
    ("images*limit of #", &[ImageCount]),
    ("image exceeds @ maximum", &[ImageBytes]),
    ("image*maximum*@", &[ImageBytes]),
    ("image*limit*@", &[ImageBytes]),
    ("image*must be less than @", &[ImageBytes]),
    ("image*is below @", &[ImageBytes]),
    ("image*larger than*@", &[ImageBytes]),
    ("image*(#px)", &[ImagePixels]),
    ("image*# pixels", &[ImagePixels]),
    ("image*max*# px", &[ImagePixels]),
];

/// Wordings that precede a time to wait.
const WAITS: [&str; 6] =
    ["try again in ", "retry in ", "retry after ", "retry-after: ", "try again after ", "wait "];

#[derive(Default)]
struct Found {
    window: Option<u64>,
    input: Option<u64>,
    total: Option<u64>,
    asked: Option<u64>,
    max_output: Option<u64>,
    available: Option<u64>,
    images: ImageLimits,
}

impl Found {
    fn set(&mut self, fact: Fact, value: u64) {
        let (place, value) = match fact {
            Other => return,
            Window => (&mut self.window, value),
            Input => (&mut self.input, value),
            Total => (&mut self.total, value),
            Asked => (&mut self.asked, value),
            MaxOutput => (&mut self.max_output, value),
            OutputEnd => (&mut self.max_output, value.saturating_sub(1)),
            Available => (&mut self.available, value),
            ImageCount => (&mut self.images.count, value),
            ImageEnd => (&mut self.images.count, value.saturating_sub(1)),
            ImageBytes => (&mut self.images.bytes, value),
            ImagePixels => (&mut self.images.pixels, value),
        };
        // Only the available room can be zero.
        if value > 0 || fact == Available {
            place.get_or_insert(value);
        }
    }
}

/// Fills in the numbers from the folded text and the counts of a body.
pub(super) fn read(error: &mut ModelError, words: &str, body: &Body) {
    let mut found = Found::default();
    for (count, value) in &body.counts {
        let fact = match count {
            Count::Window => Window,
            Count::Input => Input,
            Count::Available => Available,
        };
        found.set(fact, *value);
    }
    for (wording, facts) in WORDINGS.iter().chain(&MORE) {
        for (fact, value) in facts.iter().zip(captures(words, wording).unwrap_or_default()) {
            found.set(*fact, value);
        }
    }
    // The total minus the requested output is more accurate than the input alone, because providers
    // count tools and functions separately.
    let input = match (found.total, found.asked) {
        (Some(total), Some(asked)) => {
            total.checked_sub(asked).filter(|input| *input > 0).or(found.input)
        }
        (Some(total), None) => found.input.or(Some(total)),
        _ => found.input,
    };
    let left = || found.window.zip(input).and_then(|(window, input)| window.checked_sub(input));
    error.window = found.window;
    error.input_tokens = input;
    error.max_output_tokens = found.max_output;
    error.available_output_tokens = found.available.or_else(|| found.asked.and_then(|_| left()));
    error.images = found.images;
    error.retry_after = body.retry_after.or_else(|| wait(words));
}

fn wait(words: &str) -> Option<std::time::Duration> {
    let behind = |front: &&str| {
        words.match_indices(*front).map(|(at, found)| at + found.len()).collect::<Vec<_>>()
    };
    WAITS.iter().flat_map(behind).find_map(|at| duration::read(&words[at..])).map(|(wait, _)| wait)
}

#[cfg(test)]
mod tests {
    use super::super::pattern::fold;
    use super::*;

    #[test]
    fn wordings_are_folded_and_name_what_their_holes_are() {
        for (wording, facts) in WORDINGS.iter().chain(&MORE) {
            assert_eq!(fold(wording), *wording);
            assert_eq!(wording.matches(['#', '@']).count(), facts.len(), "{wording}");
        }
    }
}
