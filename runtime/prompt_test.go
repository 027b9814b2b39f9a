package runtime

import (
	"strings"
	"testing"
)

// A prompt: what the file says, what the client sends, what it gets.
var prompts = []struct{ claim, prompt, arguments, want string }{
	{"a text is a message",
		`message "user" { text = "Hello" }`, `{}`,
		`{"description":"A prompt.","messages":[{"role":"user","content":{"type":"text","text":"Hello"}}]}`},
	{"arguments become what their types say",
		`argument "n" { type = integer }
		 argument "b" { type = bool }
		 argument "s" { type = string }
		 argument "o" { type = optional(integer, 7) }
		 message "user" { text = "${input.n + 1} ${input.b ? "yes" : "no"} ${input.s} ${input.o}" }`, `{"n":"41","b":"true","s":"5","o":""}`,
		`{"description":"A prompt.","messages":[{"role":"user","content":{"type":"text","text":"42 yes 5 7"}}]}`},
	{"all violations are told at once and nothing is done",
		`argument "n" { type = integer }
		 argument "e" { type = enum("a", "b") }
		 argument "s" { type = string }
		 fake { do = "panic" }
		 message "user" { text = "${input.n}${input.e}${input.s}" }`, `{"n":"x","e":"c","other":"1"}`,
		`error: The arguments are not valid, and nothing was done:` + "\n" + `- n: must be an integer, got the string "x"` + "\n" + `- e: must be one of "a", "b", got the string "c"` + "\n" + `- s: is required` + "\n" + `- unknown argument "other"; leave it out. If the client adds it to every call, the server can ignore it: server { ignore_arguments = ["other"] } (-32602)`},
	{"an argument that is no text is refused",
		`argument "n" { type = integer }
		 message "user" { text = "${input.n}" }`, `{"n":5}`,
		"error: The arguments are not valid, and nothing was done:\n- n: the arguments of a prompt are strings, got a number (-32602)"},
	{"what does not hold is told",
		`argument "n" { type = integer }
		 check "n is odd" { that = "input.n % 2 == 0" }
		 fake { do = "panic" }
		 message "user" { text = "${input.n}" }`, `{"n":"3"}`,
		`error: n is odd (-32602)`},
	{"messages hold every kind of content, each a message",
		`message "user" {
		   content "text" { text = "one" }
		   content "image" {
		     data      = "aGk="
		     mime_type = "image/png"
		   }
		   content "audio" {
		     data      = "aGk="
		     mime_type = "audio/wav"
		   }
		   content "resource" {
		     uri       = "doc://x"
		     mime_type = "text/plain"
		     text      = "inside"
		   }
		   content "resource" {
		     uri  = "doc://y"
		     data = "aGk="
		   }
		   content "link" {
		     uri         = "doc://z"
		     name        = "z"
		     title       = "Z"
		     description = "The last."
		     size        = 3
		   }
		 }
		 message "assistant" { text = "two" }`, `{}`,
		`{"description":"A prompt.","messages":[` +
			`{"role":"user","content":{"type":"text","text":"one"}},` +
			`{"role":"user","content":{"type":"image","data":"aGk=","mimeType":"image/png"}},` +
			`{"role":"user","content":{"type":"audio","data":"aGk=","mimeType":"audio/wav"}},` +
			`{"role":"user","content":{"type":"resource","resource":{"uri":"doc://x","mimeType":"text/plain","text":"inside"}}},` +
			`{"role":"user","content":{"type":"resource","resource":{"uri":"doc://y","blob":"aGk="}}},` +
			`{"role":"user","content":{"type":"resource_link","uri":"doc://z","name":"z","title":"Z","description":"The last.","size":3}},` +
			`{"role":"assistant","content":{"type":"text","text":"two"}}]}`},
	{"content is annotated",
		`argument "at" { type = string }
		 message "user" {
		   content "text" {
		     text = "one"
		     annotations {
		       audience      = ["user", "assistant"]
		       priority      = 0.5
		       last_modified = input.at
		     }
		   }
		 }`, `{"at":"2026-01-31T15:04:05Z"}`,
		`{"description":"A prompt.","messages":[{"role":"user","content":{"type":"text","text":"one","annotations":{"audience":["user","assistant"],"priority":0.5,"lastModified":"2026-01-31T15:04:05Z"}}}]}`},
	{"messages are written for each row, those whose condition holds",
		`fake { value = [{ id = 1 }, { id = 2 }, { id = 3 }] }
		 message "user" {
		   each = output.value
		   when = "each.value.id != 2"
		   text = "${each.key}: ${each.value.id}"
		 }
		 message "assistant" {
		   when = "false"
		   text = "never"
		 }`, `{}`,
		`{"description":"A prompt.","messages":[{"role":"user","content":{"type":"text","text":"0: 1"}},{"role":"user","content":{"type":"text","text":"2: 3"}}]}`},
	{"steps come before messages",
		`step "one" {
		   fake { value = 1 }
		 }
		 step "two" {
		   fake { value = step.one.value + 1 }
		 }
		 message "user" { text = "${step.two.value}" }`, `{}`,
		`{"description":"A prompt.","messages":[{"role":"user","content":{"type":"text","text":"2"}}]}`},
	{"a failure of the backend is an error of the protocol, in the words of the prompt",
		`fake { do = "fault" }
		 message "user" { text = "x" }
		 error = "Failed: ${error.message} (${error.status})"`, `{}`,
		`error: Failed: no such order (404) (-32603)`},
	{"an error of ours says nothing of its cause",
		`fake { do = "broken" }
		 message "user" { text = "x" }`, `{}`,
		`error: the prompt failed because of a problem on the server, not because of its arguments; the server's log has the reason (-32603)`},
	{"a panic ends the request alone",
		`fake { do = "panic" }
		 message "user" { text = "x" }`, `{}`,
		`error: the prompt failed because of a problem on the server, not because of its arguments; the server's log has the reason (-32603)`},
	{"secrets are taken out of messages",
		`fake { do = "leaks" }
		 message "user" { text = "${output.value.list[0]}" }`, `{}`,
		`{"description":"A prompt.","messages":[{"role":"user","content":{"type":"text","text":"x(secret)y"}}]}`},
}

func TestPromptsAreWritten(t *testing.T) {
	for _, c := range prompts {
		t.Run(strings.ReplaceAll(c.claim, " ", "_"), func(t *testing.T) {
			h := newHost(t, neighbours+"prompt \"p\" {\ndescription = \"A prompt.\"\n"+c.prompt+"\n}\n")
			if got := getPrompt(t, h, "", "p", c.arguments); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.claim, got, c.want)
			}
		})
	}
}

// An argument that a client adds may be any value, and one that the prompt declares is none.
func TestArgumentsOfPromptsThatAreIgnoredMayBeAnything(t *testing.T) {
	h := newHost(t, "server { ignore_arguments = [\"toolCallId\", \"n\"] }\n"+neighbours+
		"prompt \"p\" {\ndescription = \"A prompt.\"\nargument \"n\" { type = integer }\nmessage \"user\" { text = \"${input.n}\" }\n}\n")
	for _, added := range []string{`7`, `{"a":1}`, `"x"`, `null`} {
		if got := getPrompt(t, h, "", "p", `{"toolCallId":`+added+`,"n":"5"}`); !strings.Contains(got, `"text":"5"`) {
			t.Errorf("%s: got %s", added, got)
		}
	}
}
