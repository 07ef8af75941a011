//! What services say and what it means: words, patterns and statuses.
//!
//! The patterns are for [`pattern::matches`](super::pattern::matches): lower case, one space, `*` for a gap.
//! The bodies they come from are in `tests/data/errors.json`, each with its source; a few rows without one are
//! the plain words for the same thing.

use crate::error::ProviderErrorKind as Kind;

/// Types and codes that say it outright.
pub(super) const LABELS: &[(Kind, &[&str])] = &[
    (
        Kind::Quota,
        &[
            "insufficient_quota",
            "billing_error",
            "billing_hard_limit_reached",
            "billing_not_active",
            "insufficient_balance",
            "insufficient_credits",
            "exceeded_current_quota_error",
            "payment_required",
            "credits_exhausted",
        ],
    ),
    (
        // OpenAI and Groq name what was counted: `tokens`, `requests`.
        Kind::RateLimited,
        &[
            "rate_limit_error",
            "rate_limit_exceeded",
            "rate_limit_reached_error",
            "rate_limit",
            "ratelimitreached",
            "too_many_requests",
            "toomanyrequestsexception",
            "throttlingexception",
            "throttling_error",
            "throttling",
            "resource_exhausted",
            "too_many_requests_error",
            "too_many_tokens_error",
            "request_quota_exceeded",
            "token_quota_exceeded",
            "tokens",
            "requests",
        ],
    ),
    (
        Kind::ContextOverflow,
        &[
            // OpenAI, Groq, Cerebras.
            "context_length_exceeded",
            // llama.cpp, https://github.com/ggml-org/llama.cpp/pull/15780.
            "exceed_context_size_error",
            // A stop reason of Anthropic and z.ai.
            "model_context_window_exceeded",
            "context_window_exceeded",
            "contextwindowexceedederror",
            // GitHub Copilot, https://github.com/microsoft/copilot-intellij-feedback/issues/94.
            "model_max_prompt_tokens_exceeded",
            // GitHub Models.
            "tokens_limit_reached",
            // Zhipu, https://github.com/zeroclaw-labs/zeroclaw/issues/4124.
            "1261",
            // xAI, https://github.com/UKGovernmentBEIS/inspect_ai/pull/5208.
            "input_too_large",
        ],
    ),
    (
        Kind::Auth,
        &[
            "authentication_error",
            "permission_error",
            "invalid_api_key",
            "api_key_invalid",
            "unauthenticated",
            "permission_denied",
            "unauthorized",
            "accessdeniedexception",
            "unrecognizedclientexception",
            "expiredtokenexception",
            "invalid_authentication_error",
            "token_expired",
        ],
    ),
    (
        // OpenAI.
        Kind::ThinkingRejected,
        &["invalid_encrypted_content"],
    ),
    (
        // OpenAI.
        Kind::ImageRejected,
        &[
            "image_parse_error",
            "image_too_large",
            "image_too_small",
            "image_file_too_large",
            "invalid_base64_image",
            "invalid_image",
            "invalid_image_format",
            "invalid_image_mode",
            "invalid_image_url",
            "unsupported_image_media_type",
            "empty_image_file",
        ],
    ),
    (
        Kind::PayloadTooLarge,
        &[
            "request_too_large",
            "payload_too_large",
            "string_above_max_length",
        ],
    ),
    (
        Kind::Timeout,
        &[
            "timeout_error",
            "deadline_exceeded",
            "request_timeout",
            "cf_gateway_timeout",
            "modeltimeoutexception",
        ],
    ),
    (
        Kind::Overloaded,
        &[
            "overloaded_error",
            "unavailable_error",
            "unavailable",
            "api_error",
            "server_error",
            "server_is_overloaded",
            "slow_down",
            "internal",
            "internal_error",
            "internal_server_error",
            "internalserverexception",
            "serviceunavailableexception",
            "modelnotreadyexception",
            "modelstreamerrorexception",
            "engine_overloaded_error",
        ],
    ),
    (
        Kind::InvalidRequest,
        &[
            "invalid_request_error",
            "invalid_argument",
            "invalidparameter",
            "validationexception",
            "not_found_error",
            "not_found",
            "model_not_found",
            "failed_precondition",
        ],
    ),
];

/// A rate or a plan that one request alone exceeds: waiting never helps, a smaller context does.
pub(super) const NEVER_FITS: &[&str] = &[
    "request too large for*tokens per min",
    "extra usage is required for long context",
];

/// What stands before and behind the most input tokens a minute.
pub(super) const INPUT_RATE: &[(&str, &str)] = &[("limit of", " input tokens per minute")];

/// The account cannot pay. No bare `billing`: Groq's rate limits link to its billing page.
pub(super) const QUOTA: &[&str] = &[
    "exceeded your current quota",
    "check your plan and billing",
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
    "insufficient quota",
    "insufficient funds",
    "requires more credits",
    "can only afford",
    "out of credits",
    "monthly usage limit",
    "spending limit",
    "account is not active",
];

/// Google's only word for both, `RESOURCE_EXHAUSTED`, is a rate where it says when to come back.
pub(super) const COMES_BACK: &[&str] = &["please retry in", "please try again in"];

/// A limit of nothing does not come back.
pub(super) const NEVER: &str = "limit: 0,";

/// So much in so much time. Checked before overflow, because the same texts ask for shorter prompts.
pub(super) const RATE: &[&str] = &[
    "rate limit",
    "too many requests",
    "tokens per min",
    "tokens per day",
    "tokens per hour",
    "requests per min",
    "requests per day",
    "(tpm)",
    "(rpm)",
    "(tpd)",
    "please wait before trying again",
    "throttlingexception",
    "request was throttled",
    "resource has been exhausted",
];

/// What reads like an overflow and is not: other limits of the request.
pub(super) const LOOKALIKES: &[(&str, Kind)] = &[
    // More output asked for than the model gives.
    ("at most*completion tokens", Kind::InvalidRequest),
    ("at most*output tokens", Kind::InvalidRequest),
    (
        "exceeds model's maximum output tokens",
        Kind::InvalidRequest,
    ),
    (
        "maximum allowed number of output tokens",
        Kind::InvalidRequest,
    ),
    ("maximum tokens you requested exceed", Kind::InvalidRequest),
    ("valid range of max_tokens", Kind::InvalidRequest),
    (
        "max_tokens` must be less than or equal",
        Kind::InvalidRequest,
    ),
    ("error: `max_new_tokens` must be", Kind::InvalidRequest),
    (
        "tokens` specified in the request are not valid",
        Kind::InvalidRequest,
    ),
    // Counts of other things.
    ("array too long", Kind::InvalidRequest),
    ("maximum number of tools", Kind::InvalidRequest),
    // Features with the word context in their names.
    ("context_management", Kind::InvalidRequest),
    ("long context beta is not", Kind::Auth),
    // Thinking of Anthropic, also through Amazon and Google.
    ("invalid*signature*in*thinking", Kind::ThinkingRejected),
    ("invalid*data*in*redacted_thinking", Kind::ThinkingRejected),
    ("thinking*cannot be modified", Kind::ThinkingRejected),
    ("each*thinking*block must contain", Kind::ThinkingRejected),
    // Google.
    ("corrupted thought signature", Kind::ThinkingRejected),
    ("invalid thought signature", Kind::ThinkingRejected),
    ("thought signature is not valid", Kind::ThinkingRejected),
    // OpenAI.
    ("encrypted content*could not be", Kind::ThinkingRejected),
    (
        "of type 'reasoning' was provided without",
        Kind::ThinkingRejected,
    ),
    // Groq.
    ("property 'reasoning", Kind::ThinkingRejected),
    // Images.
    ("could not process image", Kind::ImageRejected),
    ("unable to process input image", Kind::ImageRejected),
    ("image exceeds", Kind::ImageRejected),
    ("images exceed", Kind::ImageRejected),
    ("image size exceeds", Kind::ImageRejected),
    ("image dimensions exceed", Kind::ImageRejected),
    ("image dimension*exceed", Kind::ImageRejected),
    ("image is too", Kind::ImageRejected),
    ("image too large", Kind::ImageRejected),
    ("image appears to be", Kind::ImageRejected),
    ("invalid image", Kind::ImageRejected),
    ("image is not valid", Kind::ImageRejected),
    ("image is invalid", Kind::ImageRejected),
    ("not represent a valid image", Kind::ImageRejected),
    ("unsupported image", Kind::ImageRejected),
    ("decode image", Kind::ImageRejected),
    ("load image", Kind::ImageRejected),
    ("cannot identify image", Kind::ImageRejected),
    ("inline_data*base64 decoding failed", Kind::ImageRejected),
    ("too many images", Kind::ImageRejected),
    ("too much media", Kind::ImageRejected),
    ("at most*image(s)", Kind::ImageRejected),
    ("images*exceeds the limit", Kind::ImageRejected),
    ("number of images*exceed", Kind::ImageRejected),
    ("image input is not supported", Kind::ImageRejected),
    ("support image input", Kind::ImageRejected),
    ("not support image", Kind::ImageRejected),
    (
        "image_url is only supported by certain models",
        Kind::ImageRejected,
    ),
    // Zhipu: the format of the image.
    ("\u{56fe}\u{7247}\u{8f93}\u{5165}", Kind::ImageRejected),
    // Bytes, pixels and characters.
    ("bytes >*bytes", Kind::PayloadTooLarge),
    ("string too long", Kind::PayloadTooLarge),
    ("string value length*exceeds", Kind::PayloadTooLarge),
    (
        "must have length less than or equal to",
        Kind::PayloadTooLarge,
    ),
    ("request payload size exceeds", Kind::PayloadTooLarge),
];

/// The request has more tokens than the window.
pub(super) const OVERFLOW: &[&str] = &[
    // Anthropic, Fireworks, Bedrock, gateways of both.
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "exceed context limit",
    // OpenAI and the many servers with its words: vLLM, DeepSeek, OpenRouter, SGLang, NVIDIA, LiteLLM.
    "maximum context length",
    "exceeds the context window",
    "exceed context window",
    "exceeds the model's context",
    "exceeds model context window",
    "reduce the length of the messages",
    "reduce the length of the input",
    "context length exceeded",
    "context_length_exceeded",
    "context_window_exceeded",
    "contextwindowexceedederror",
    // vLLM.
    "too long to fit into the model",
    "longer than the maximum model length",
    "max_tokens must be at least 1, got -",
    // SGLang, Together.
    "longer than the model's context length",
    "input length*exceeds the maximum",
    "input length*exceeds maximum allowed token size",
    // Text Generation Inference, Together.
    "inputs` tokens + `max_new_tokens` must be",
    "inputs` must have less than*tokens",
    // llama.cpp and its Python server.
    "exceeds the available context size",
    "exceed_context_size",
    "larger than the max context size",
    "too large to process*physical batch size",
    // Ollama.
    "length exceeds the context length",
    "exceeded max context length",
    "exceeded context length",
    // LM Studio.
    "trying to keep the first*tokens when*context",
    "greater than the context length",
    // Google.
    "token count*exceeds the maximum number of tokens",
    // xAI.
    "maximum prompt length is",
    "[input_too_large]",
    "tokens) exceeds budget",
    // GitHub Copilot and GitHub Models.
    "token count of*exceeds the limit of",
    "exceeds token limit",
    "body too large*max size*tokens",
    // Mistral.
    "too large for model with*maximum context",
    // MiniMax.
    "context window exceeds limit",
    // Moonshot.
    "exceeded model token limit",
    // Zhipu, z.ai.
    "prompt exceeds max length",
    "reached its context window limit",
    // Alibaba.
    "range of input length should be",
    // ByteDance.
    "exceed max message tokens",
    // Cohere.
    "total number of tokens*cannot exceed",
    // DS4.
    "but the configured context size is",
    // Amazon's first models count characters.
    "expected maxlength:*actual:",
    "too many input tokens",
    "too many tokens",
    "token limit exceeded",
];

/// Credentials. Google says 400 to a wrong key.
pub(super) const AUTH: &[&str] = &[
    "api key not valid",
    "api key not found",
    "api key expired",
    "invalid api key",
    "invalid api-key",
    "incorrect api key",
    "invalid x-api-key",
    "missing api key",
    "no api key",
    "no auth credentials",
    "invalid bearer token",
    "token expired",
    "token has expired",
    "token is expired",
    "invalid authentication",
    "security token included in the request is",
];

/// Refusals with status 403 that no other key would help against.
pub(super) const FORBIDDEN: &[&str] = &[
    "country, region, or territory",
    "location is not supported",
    "requires moderation",
    "content policy",
    "was flagged",
];

/// Bytes.
pub(super) const TOO_LARGE: &[&str] = &[
    "request entity too large",
    "payload too large",
    "content too large",
    "request body too large",
    "body exceeded",
    "request exceeds the maximum size",
];

/// The other side gave up waiting for us.
pub(super) const INTERRUPTED: &[&str] = &["context canceled", "client closed request"];

/// Go's servers say `context deadline exceeded`; that context is not the model's.
pub(super) const TIMEOUT: &[&str] = &[
    "deadline exceeded",
    "gateway timeout",
    "gateway time-out",
    "timed out",
    "timeout",
];

/// Load, or a failure of theirs.
pub(super) const OVERLOADED: &[&str] = &[
    "overloaded",
    "loading model",
    "high demand",
    "at capacity",
    "service unavailable",
    "temporarily unavailable",
    "server had an error",
    "internal server error",
    "bad gateway",
];
