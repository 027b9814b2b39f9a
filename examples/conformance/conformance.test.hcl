# The conformance suite tests what is sent. These tests show how content, questions, failures and documents are tested.

test "content has several types" {
  tool = "test_multiple_content_types"
  expect { that = "map(content, .type) == ['text', 'image', 'resource'] && content[1].annotations.priority == 0.3" }
}

test "a link names its document" {
  tool = "test_resource_link"
  expect { that = "content[0].uri == 'test://static-text'" }
}

test "a failure is a result" {
  tool = "test_error_handling"
  expect { error = "This tool intentionally returns an error for testing" }
}

test "a fault is a protocol error" {
  tool = "protocol_error_job"
  expect {
    fault = 1001
    error = "The job cannot be done"
  }
}

test "progress is reported" {
  tool = "test_tool_with_progress"
  expect { that = "called == ['begun', 'first', 'half', 'second', 'done']" }
}

test "the model answers" {
  tool = "test_sampling"
  args = { prompt = "Say hello." }
  answer "answer" { text = "Hello." }
  expect { text = "LLM response: Hello." }
}

test "a client without a model gets the fallback" {
  tool = "ask_if_possible"
  expect { text = "A word: serendipity" }
}

test "the user fills in a form" {
  tool = "test_elicitation"
  args = { message = "Who are you?" }
  answer "details" { accept = { username = "ada", email = "ada@example.com" } }
  expect { text = "User response: {\"email\":\"ada@example.com\",\"username\":\"ada\"}" }
}

test "the user may decline" {
  tool = "ask_politely"
  answer "name" { decline = true }
  expect { text = "Hello, stranger!" }
}

test "a call ends when the user dismisses its question" {
  tool = "test_streaming_elicitation"
  answer "confirm" { cancel = true }
  expect { error_matches = "dismissed" }
}

test "the user opens a page" {
  tool = "ask_on_a_page"
  answer "consent" { accept = {} }
  expect { text = "The user has answered: accept" }
}

test "a call asks several questions at once" {
  tool = "test_input_required_result_multiple_inputs"
  answer "user_name" { accept = { name = "Ada" } }
  answer "greeting" { text = "Welcome" }
  answer "client_roots" { roots = ["file:///work"] }
  expect { text = "Welcome Ada, you have 1 directories open." }
}

test "a question contains the answer to another one" {
  tool = "test_input_required_result_multi_round"
  answer "step1" { accept = { name = "Ada" } }
  answer "step2" { accept = { color = "green" } }
  expect { text = "Ada likes green." }
}

test "a tool needs a client with a model" {
  tool = "test_missing_capability"
  expect { fault = -32021 }
}

test "a task asks while it runs" {
  tool = "confirm_delete"
  each = { yes = { confirm = true, text = "Deleted: a.txt" }, no = { confirm = false, text = "Kept: a.txt" } }
  args = { filename = "a.txt" }
  answer "confirmed" { accept = { confirm = each.value.confirm } }
  expect { text = each.value.text }
}

test "a schema that is given verbatim is enforced" {
  tool = "json_schema_2020_12_tool"
  args = { name = "Ada", contactMethod = "phone", email = "ada@example.com" }
  expect { refused = "" }
}

test "a prompt has an image" {
  prompt = "test_prompt_with_image"
  expect { that = "map(result.messages, .content.type) == ['image', 'text']" }
}

test "a prompt asks for its context" {
  prompt = "test_input_required_result_prompt"
  answer "user_context" { accept = { context = "a test" } }
  expect { text = "Please answer with this in mind: a test" }
}

test "a document is read from a file" {
  resource = "test://watched-resource"
  expect { text_matches = "." }
}

test "a template is a family of documents" {
  resource = "test://template/7/data"
  expect { text = jsonencode({ data = "Data for ID: 7", id = "7", templateTest = true }) }
}

test "a text is sent as it is" {
  tool = "test_simple_text"
  expect { text = "This is a simple text response for testing." }
}

test "an image has its media type" {
  tool = "test_image_content"
  expect { that = "content[0].type == 'image' && content[0].mimeType == 'image/png'" }
}

test "a sound has its media type" {
  tool = "test_audio_content"
  expect { that = "content[0].type == 'audio' && content[0].mimeType == 'audio/wav'" }
}

test "a resource is embedded with its text" {
  tool = "test_embedded_resource"
  expect { that = "content[0].resource.text == 'This is an embedded resource content.'" }
}

test "messages are logged" {
  tool = "test_tool_with_logging"
  expect { that = "called == ['started', 'first', 'processing', 'second', 'completed']" }
}

test "a value is logged" {
  tool = "test_logging_tool"
  expect { text = "Logged." }
}

test "a client may come back for the result" {
  tool = "test_reconnection"
  expect { text = "The result was kept for you." }
}

test "a form has defaults" {
  tool = "test_elicitation_sep1034_defaults"
  answer "profile" { accept = { name = "Ada", age = 36, score = 99, status = "active", verified = true } }
  expect { text_matches = "\"name\":\"Ada\"" }
}

test "a form has choices" {
  tool = "test_elicitation_sep1330_enums"
  answer "choices" {
    accept = {
      untitledSingle = "option1", titledSingle = "value2", legacyEnum = "opt3", untitledMulti = ["option1", "option2"],
      titledMulti    = ["value1"]
    }
  }
  expect { text_matches = "\"titledMulti\":\\[\"value1\"\\]" }
}

test "the user is asked for a name" {
  tool = "test_input_required_result_elicitation"
  answer "user_name" { accept = { name = "Ada" } }
  expect { text = "Hello, Ada!" }
}

test "the model is asked for a capital" {
  tool = "test_input_required_result_sampling"
  answer "capital_question" { text = "Paris" }
  expect { text = "Paris" }
}

test "the client is asked for its directories" {
  tool = "test_input_required_result_list_roots"
  answer "client_roots" { roots = ["file:///work"] }
  expect { text = "Roots: file:///work" }
}

test "a call goes on with its state" {
  tool = "test_input_required_result_request_state"
  answer "confirm" { accept = { ok = true } }
  expect { text = "state-ok: true" }
}

test "a state that is intact is accepted" {
  tool = "test_input_required_result_tampered_state"
  answer "confirm" { accept = { ok = true } }
  expect { text = "The state was intact: true" }
}

test "a client is asked what it can answer" {
  tool = "test_input_required_result_capabilities"
  answer "user_name" { accept = { name = "Ada" } }
  answer "greeting" { text = "Welcome" }
  expect { text = "Welcome, Ada!" }
}

test "a client that can answer nothing is asked nothing" {
  tool = "test_input_required_result_capabilities"
  expect { text = "Hello, stranger!" }
}

test "a header repeats an argument" {
  tool = "test_custom_header"
  args = { region = "north" }
  expect { text = "Region: north" }
}

test "a person is greeted" {
  tool = "greet"
  args = { name = "Ada" }
  expect { text = "Hello, Ada!" }
}

test "a computation takes its time" {
  tool = "slow_compute"
  args = { seconds = 0.01, label = "a sum" }
  expect { text = "Done: a sum" }
}

test "a job fails" {
  tool = "failing_job"
  expect { error = "The job failed, as it always does." }
}

test "a task asks two questions" {
  tool = "multi_input"
  answer "first" { accept = { name = "Ada", confirm = true } }
  answer "second" { accept = { name = "Bob", confirm = true } }
  expect { text = "First Ada, then Bob" }
}

test "a call becomes a task after its question" {
  tool = "test_tool_with_task"
  answer "user_name" { accept = { name = "Ada" } }
  expect { text = "Hello, Ada!" }
}

test "a tool declares a tool" {
  tool = "test_trigger_tool_change"
  expect { text = "The list of tools changes." }
}

test "a tool declares a prompt" {
  tool = "test_trigger_prompt_change"
  expect { text = "The list of prompts changes." }
}

test "a prompt is a message" {
  prompt = "test_simple_prompt"
  expect { text = "This is a simple prompt for testing." }
}

test "a prompt has arguments" {
  prompt = "test_prompt_with_arguments"
  args   = { arg1 = "paris", arg2 = "x" }
  expect { text = "Prompt with arguments: arg1='paris', arg2='x'" }
}

test "a prompt embeds a resource" {
  prompt = "test_prompt_with_embedded_resource"
  args   = { resourceUri = "test://x" }
  expect { that = "result.messages[0].content.resource.uri == 'test://x'" }
}

test "a document is constant" {
  resource = "test://static-text"
  expect { text = "This is the content of the static text resource." }
}

test "a document is an image" {
  resource = "test://static-binary"
  expect { that = "result.contents[0].mimeType == 'image/png'" }
}
