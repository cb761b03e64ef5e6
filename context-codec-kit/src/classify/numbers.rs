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
enum NumberMeaning {
    /// A number that is not needed.
    Other,
    Window,
    Input,
    /// Input plus requested output.
    Total,
    /// Requested output.
    RequestedOutput,
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

use NumberMeaning::{
    Available, ImageBytes, ImageCount, ImageEnd, ImagePixels, Input, MaxOutput, Other, OutputEnd,
    RequestedOutput, Total, Window,
};

const WORDINGS: [(&str, &[NumberMeaning]); 92] = [
    // Anthropic.
    ("exceed context limit: # + # > #", &[Input, RequestedOutput, Window]),
    ("prompt is too long: # tokens > # maximum", &[Input, Window]),
    ("max tokens: # > #, which is the maximum", &[RequestedOutput, MaxOutput]),
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
        &[Total, Input, RequestedOutput],
    ),
    (
        "you requested # output tokens and your prompt contains at least # input tokens",
        &[RequestedOutput, Input],
    ),
    ("you requested # output tokens", &[RequestedOutput]),
    ("you requested about # tokens", &[Total]),
    ("you requested # tokens", &[Total]),
    ("# in the completion", &[RequestedOutput]),
    ("# for the completion", &[RequestedOutput]),
    ("# in the output", &[RequestedOutput]),
    ("# in the messages", &[Input]),
    ("# in your prompt", &[Input]),
    ("your request has # input tokens", &[Input]),
    ("prompt contains at least # input tokens", &[Input]),
    (
        "max tokens is too large: #. this model supports at most # completion tokens",
        &[RequestedOutput, MaxOutput],
    ),
    ("supports at most # completion tokens", &[MaxOutput]),
    ("max tokens is too large: #", &[RequestedOutput]),
    ("max tokens*expected a value <= #", &[MaxOutput]),
    // NVIDIA.
    ("passed # input tokens and requested # output tokens", &[Input, RequestedOutput]),
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
        &[Window, Input, RequestedOutput],
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
const MORE: [(&str, &[NumberMeaning]); 10] = [
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

/// The numbers of an error message, by their meaning.
#[derive(Default)]
struct ErrorNumbers {
    window: Option<u64>,
    input: Option<u64>,
    total: Option<u64>,
    requested_output: Option<u64>,
    max_output: Option<u64>,
    available: Option<u64>,
    images: ImageLimits,
}

impl ErrorNumbers {
    fn set(&mut self, meaning: NumberMeaning, value: u64) {
        let (slot, value) = match meaning {
            Other => return,
            Window => (&mut self.window, value),
            Input => (&mut self.input, value),
            Total => (&mut self.total, value),
            RequestedOutput => (&mut self.requested_output, value),
            MaxOutput => (&mut self.max_output, value),
            OutputEnd => (&mut self.max_output, value.saturating_sub(1)),
            Available => (&mut self.available, value),
            ImageCount => (&mut self.images.count, value),
            ImageEnd => (&mut self.images.count, value.saturating_sub(1)),
            ImageBytes => (&mut self.images.bytes, value),
            ImagePixels => (&mut self.images.pixels, value),
        };
        // Only the available room can be zero.
        if value > 0 || meaning == Available {
            slot.get_or_insert(value);
        }
    }
}

/// Fills in the numbers from the folded text and the counts of a body.
pub(super) fn read(error: &mut ModelError, words: &str, body: &Body) {
    let mut numbers = ErrorNumbers::default();
    for (count, value) in &body.counts {
        let meaning = match count {
            Count::Window => Window,
            Count::Input => Input,
            Count::Available => Available,
        };
        numbers.set(meaning, *value);
    }
    for (wording, meanings) in WORDINGS.iter().chain(&MORE) {
        for (meaning, value) in meanings.iter().zip(captures(words, wording).unwrap_or_default()) {
            numbers.set(*meaning, value);
        }
    }
    // The total minus the requested output is more accurate than the input alone, because providers
    // count tools and functions separately.
    let input = match (numbers.total, numbers.requested_output) {
        (Some(total), Some(requested_output)) => {
            total.checked_sub(requested_output).filter(|input| *input > 0).or(numbers.input)
        }
        (Some(total), None) => numbers.input.or(Some(total)),
        _ => numbers.input,
    };
    let left = || numbers.window.zip(input).and_then(|(window, input)| window.checked_sub(input));
    error.window = numbers.window;
    error.input_tokens = input;
    error.max_output_tokens = numbers.max_output;
    error.available_output_tokens =
        numbers.available.or_else(|| numbers.requested_output.and_then(|_| left()));
    error.images = numbers.images;
    error.retry_after = body.retry_after.or_else(|| wait(words));
}

fn wait(words: &str) -> Option<std::time::Duration> {
    let behind = |front: &&str| {
        words.match_indices(*front).map(|(at, front)| at + front.len()).collect::<Vec<_>>()
    };
    WAITS.iter().flat_map(behind).find_map(|at| duration::read(&words[at..])).map(|(wait, _)| wait)
}

#[cfg(test)]
mod tests {
    use super::super::pattern::fold;
    use super::*;

    #[test]
    fn wordings_are_folded_and_name_what_their_holes_are() {
        for (wording, meanings) in WORDINGS.iter().chain(&MORE) {
            assert_eq!(fold(wording), *wording);
            assert_eq!(wording.matches(['#', '@']).count(), meanings.len(), "{wording}");
        }
    }
}
