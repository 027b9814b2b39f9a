package runtime

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/internal/sampletest"
	"hatchel/runtime/edge/mcp"
)

// A call of one tool: what the file says, what the client sends, what it gets.
var calls = []struct {
	claim, tool, arguments, want string
}{
	{"a text is sent alone",
		`input "n" { type = integer }
		 text = "n is ${input.n}"`, `{"n": 1.0}`,
		`{"content":[{"type":"text","text":"n is 1"}]}`},
	{"defaults are applied",
		`input "n" { type = optional(integer, 7) }
		 text = "n is ${input.n}"`, `{}`,
		`{"content":[{"type":"text","text":"n is 7"}]}`},
	{"all violations are told at once and nothing is done",
		`input "a" { type = integer }
		 input "b" { type = string }
		 fake { do = "panic" }`, `{"a": "x", "c": 1}`,
		`{"content":[{"type":"text","text":"The arguments are not valid, and nothing was done:\n- a: must be an integer, got the string \"x\"\n- b: is required\n- unknown argument \"c\"; leave it out. If the client adds it to every call, the server can ignore it: server { ignore_arguments = [\"c\"] }"}],"isError":true}`},
	{"all checks are told at once",
		`input "a" { type = integer }
		 check "a is too small" { that = "input.a > 5" }
		 check "a is odd" { that = "input.a % 2 == 0" }
		 fake { do = "panic" }`, `{"a": 3}`,
		`{"content":[{"type":"text","text":"a is too small\na is odd"}],"isError":true}`},
	{"who is not allowed is refused",
		`allow = "caller.subject == 'ada' || input.a > 5"
		 input "a" { type = integer }
		 fake { do = "panic" }`, `{"a": 3}`,
		`{"content":[{"type":"text","text":"You are not allowed to make this call."}],"isError":true}`},
	{"a result is structured and the same as text",
		`fake { value = { b = 1, a = [true, null] } }
		 result = "output.value"`, `{}`,
		`{"content":[{"type":"text","text":"{\"a\":[true,null],\"b\":1}"}],"structuredContent":{"a":[true,null],"b":1}}`},
	{"a result that is not an object is wrapped for older clients",
		`result = "[1, 2]"`, `{}`,
		`{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":{"result":[1,2]}}`},
	{"a result that is a string reads plainly as text",
		`result = "'x'"`, `{}`,
		`{"content":[{"type":"text","text":"x"}],"structuredContent":{"result":"x"}}`},
	{"a result beside a text has both",
		`result = "{n: 1}"
		 text = "one"`, `{}`,
		`{"content":[{"type":"text","text":"one"}],"structuredContent":{"n":1}}`},
	{"a default of any type is text",
		`fake { value = { a = 1 } }`, `{}`,
		`{"content":[{"type":"text","text":"{\"a\":1}"}]}`},
	{"a default of a known type is structured",
		`fake {
		   rows  = true
		   value = [{ a = 1 }]
		 }`, `{}`,
		`{"content":[{"type":"text","text":"[{\"a\":1}]"}],"structuredContent":{"result":[{"a":1}]}}`},
	{"a result is held to what the tool returns",
		`input "n" { type = any }
		 result  = "{n: input.n}"
		 returns = object({ n = integer })`, `{"n": "x"}`,
		`{"content":[{"type":"text","text":"the result does not match the type that this tool declares, so it was not sent:\n- n: must be an integer, got the string \"x\""}],"isError":true}`},
	{"content blocks are sent in their order, those whose condition holds",
		`input "n" { type = integer }
		 content "text" { text = "n is ${input.n}" }
		 content "text" {
		   when = "input.n > 5"
		   text = "large"
		 }
		 content "link" {
		   uri  = "https://x.example/${input.n}"
		   name = "n"
		 }`, `{"n": 5}`,
		`{"content":[{"type":"text","text":"n is 5"},{"type":"resource_link","uri":"https://x.example/5","name":"n"}]}`},
	{"a fault is told in the words of the tool",
		`fake { do = "fault" }
		 error = "Failed: ${error.message} (${error.status})"`, `{}`,
		`{"content":[{"type":"text","text":"Failed: no such order (404)"}],"isError":true}`},
	{"an error of ours says nothing of its cause",
		`fake { do = "broken" }`, `{}`,
		`{"content":[{"type":"text","text":"the tool failed because of a problem on the server, not because of its arguments; the server's log has the reason; it is not known whether the call took effect, so check before calling again"}],"isError":true}`},
	{"a panic ends the call alone",
		`fake { do = "panic" }`, `{}`,
		`{"content":[{"type":"text","text":"the tool failed because of a problem on the server, not because of its arguments; the server's log has the reason; it is not known whether the call took effect, so check before calling again"}],"isError":true}`},
	{"a panic on a goroutine of each ends the call alone",
		`step "all" {
		   each     = [1, 2, 3]
		   parallel = 3
		   fake { do = "panic" }
		 }
		 text = "done"`, `{}`,
		`{"content":[{"type":"text","text":"the tool failed because of a problem on the server, not because of its arguments; the server's log has the reason; it is not known whether the step \"all\" took effect, so check before calling again"}],"isError":true}`},
	{"a step reads what the steps before it gave, and one that is skipped is null",
		`step "one" {
		   fake { value = 1 }
		 }
		 step "two" {
		   when = "step.one.value > 1"
		   fake { do = "panic" }
		 }
		 step "three" {
		   fake { value = "${step.one.value}${step.two == null ? "-" : "+"}" }
		 }
		 text = "${step.three.value}"`, `{}`,
		`{"content":[{"type":"text","text":"1-"}]}`},
	{"the step that failed is named",
		`step "one" {
		   fake { value = 1 }
		 }
		 step "two" {
		   fake { do = "fault" }
		 }
		 text  = "done"
		 error = "${error.step}: ${error.message}"`, `{}`,
		`{"content":[{"type":"text","text":"two: no such order; the step \"one\" was carried out and is not undone"}],"isError":true}`},
	{"a step that may fail leaves its error",
		`step "one" {
		   on_error = "continue"
		   fake { do = "fault" }
		 }
		 text = "one: ${step.one.error == null ? "fine" : step.one.error.message}"`, `{}`,
		`{"content":[{"type":"text","text":"one: no such order"}]}`},
	{"each over a list gives a list in its order",
		`step "all" {
		   each     = [3, 1, 2]
		   parallel = 2
		   fake { value = each.value * 10 + each.key }
		 }
		 result = "step.all | map(.value)"`, `{}`,
		`{"content":[{"type":"text","text":"[30,11,22]"}],"structuredContent":{"result":[30,11,22]}}`},
	{"each over a map gives a map",
		`step "all" {
		   each = { a = 1, b = 2 }
		   when = "each.value > 1"
		   fake { value = each.key }
		 }
		 result = "step.all"`, `{}`,
		`{"content":[{"type":"text","text":"{\"a\":null,\"b\":{\"key\":\"b\",\"value\":\"b\"}}"}],"structuredContent":{"a":null,"b":{"key":"b","value":"b"}}}`},
	{"a result of each has the key of its element, also where it failed",
		`step "all" {
		   each     = { eu = 1, us = 2 }
		   on_error = "continue"
		   fake { value = each.value }
		   expect "no such order" { that = "output.value != 2" }
		 }
		 result = "step.all | values() | map({{key: .key, error: .error?.message}})"`, `{}`,
		`{"content":[{"type":"text","text":"[{\"error\":null,\"key\":\"eu\"},{\"error\":\"no such order\",\"key\":\"us\"}]"}],"structuredContent":{"result":[{"error":null,"key":"eu"},{"error":"no such order","key":"us"}]}}`},
	{"the error of an element names the element",
		`step "all" {
		   each = { eu = 1, us = 2 }
		   fake { value = each.value }
		   expect "no such order" { that = "output.value != 2" }
		 }
		 text  = "done"`, `{}`,
		`{"content":[{"type":"text","text":"the element with the key \"us\": no such order; the step \"all\" was carried out and is not undone"}],"isError":true}`},
	{"the failure of a backend names the element",
		`step "all" {
		   each = { eu = 1 }
		   fake { do = "fault" }
		 }
		 text  = "done"`, `{}`,
		`{"content":[{"type":"text","text":"the element with the key \"eu\": no such order"}],"isError":true}`},
	{"a local reads what a step gave, once",
		`locals { twice = "${step.one.value}${step.one.value} ${uuid()}" }
		 step "one" {
		   fake { value = 7 }
		 }
		 step "two" {
		   each     = [1, 2]
		   parallel = 2
		   fake { value = local.twice }
		 }
		 text = "${startswith(local.twice, "77 ") && step.two[0].value == local.twice && step.two[1].value == local.twice}"`,
		`{}`,
		`{"content":[{"type":"text","text":"true"}]}`},
	{"what is expected of an answer makes it a failure",
		`fake { value = { ok = false, why = "locked" } }
		 expect {
		   that    = "output.value.ok == true"
		   message = "the shop said ${output.value.why}"
		 }
		 text = "done"`, `{}`,
		`{"content":[{"type":"text","text":"the shop said locked"}],"isError":true}`},
	{"a backend that asks whether it may is not asked again",
		`fake { do = "asks" }
		 expect "too late" { that = "output.value == 1" }
		 text = "done"`, `{}`,
		`{"content":[{"type":"text","text":"undone: too late"}],"isError":true}`},
	{"secrets are taken out of results, texts and keys, however they are written",
		`fake { do = "leaks" }
		 result = "output.value"`, `{}`,
		`{"content":[{"type":"text","text":"{\"key (secret)\":1,\"list\":[\"x(secret)y\",12]}"}],"structuredContent":{"key (secret)":1,"list":["x(secret)y",12]}}`},
	{"secrets are taken out of failures",
		`fake { do = "tells" }`, `{}`,
		`{"content":[{"type":"text","text":"refused with (secret) as the key"}],"isError":true}`},
	{"another tool can be a step",
		`step "greet" {
		   tool "greet" { name = "Ada" }
		 }
		 step "sum" {
		   tool "sum" { list = [1, 2] }
		 }
		 text = "${step.greet.text} ${step.sum.result}"`, `{}`,
		`{"content":[{"type":"text","text":"Hello Ada 3"}]}`},
	{"another tool's refusal is the failure of the step",
		`step "sum" {
		   tool "sum" { list = [] }
		 }
		 text  = "done"
		 error = "${error.step}: ${error.message}"`, `{}`,
		`{"content":[{"type":"text","text":"sum: nothing to add"}],"isError":true}`},
}

const neighbours = `
secret "token" { env = "TOKEN" }
tool "greet" {
  description = "Greet."
  listed      = false
  input "name" { type = string }
  text = "Hello ${input.name}"
}
tool "sum" {
  description = "Add."
  input "list" { type = list(integer) }
  check "nothing to add" { that = "length(input.list) > 0" }
  result = "sum(input.list)"
}
`

func newFakeBackend() *fakeBackend {
	return &fakeBackend{do: map[string]func(context.Context, *adapters.Call) (any, error){
		"panic": func(context.Context, *adapters.Call) (any, error) { panic("the test panics") },
		"fault": func(context.Context, *adapters.Call) (any, error) {
			return nil, &adapters.Fault{Message: "no such order", Status: 404, Cause: errors.New("cause")}
		},
		"broken": func(context.Context, *adapters.Call) (any, error) { return nil, errors.New("a host and a query") },
		"asks": func(_ context.Context, call *adapters.Call) (any, error) {
			if err := call.CheckOutput(map[string]any{"value": 2}); err != nil {
				var f *adapters.Fault
				errors.As(err, &f)
				return nil, &adapters.Fault{Message: "undone: " + f.Message}
			}
			return 2, nil
		},
		"leaks": func(context.Context, *adapters.Call) (any, error) {
			token, _ := getenv("TOKEN")
			return map[string]any{"key " + token: 1, "list": document(`["x\u0073\u0033cr3t\/\"tok\"eny",12]`)}, nil
		},
		"tells": func(context.Context, *adapters.Call) (any, error) {
			token, _ := getenv("TOKEN")
			return nil, &adapters.Fault{Message: "refused with " + token + " as the key"}
		},
		"waits": func(ctx context.Context, _ *adapters.Call) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}}
}

// document is JSON that is not decoded.
type document string

func (d document) AppendJSON(dst []byte) []byte { return append(dst, d...) }
func (d document) Value() (any, error)          { return value.Decode([]byte(d)) }

func TestCallsAreAnswered(t *testing.T) {
	for _, c := range calls {
		t.Run(strings.ReplaceAll(c.claim, " ", "_"), func(t *testing.T) {
			h := newHost(t, neighbours+"tool \"t\" {\ndescription = \"A tool.\"\n"+c.tool+"\n}\n")
			if got := callTool(t, h, "t", c.arguments); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.claim, got, c.want)
			}
		})
	}
}

func TestOnlyListedToolsCanBeCalled(t *testing.T) {
	h := newHost(t, neighbours)
	for _, name := range []string{"greet", "nothing"} {
		if got := callTool(t, h, name, `{"name":"x"}`); !strings.HasPrefix(got, "error: Unknown tool") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestNewestClientsGetResultsUnwrapped(t *testing.T) {
	h := newHost(t, neighbours)
	want := `{"resultType":"complete","content":[{"type":"text","text":"3"}],"structuredContent":3}`
	if got := callToolAt(t, h, mcp.Revision20260728, "sum", `{"list":[1,2]}`); got != want {
		t.Errorf("got %s", got)
	}
	if got := callToolAt(t, h, mcp.Revision20250326, "sum", `{"list":[1,2]}`); got != `{"content":[{"type":"text","text":"3"}]}` {
		t.Errorf("a revision without structured content got %s", got)
	}
}

func TestTimeoutEndsACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, `tool "t" {
			description = "A tool."
			timeout     = "60s"
			fake { do = "waits" }
			error = "Failed: ${error.message}"
		}`)
		began := time.Now()
		got := callTool(t, h, "t", `{}`)
		if want := `{"content":[{"type":"text","text":"Failed: timed out after 60s; it is not known whether the call took effect, so check before calling again"}],"isError":true}`; got != want {
			t.Errorf("got %s", got)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

func TestANumberOfManyDigitsIsRefusedBeforeAnythingIsComputed(t *testing.T) {
	h := newHost(t, `tool "t" {
		description = "Counts."
		timeout     = "2s"
		input "n" { type = number }
		text = "${length(range(0, input.n))}"
	}`)
	for digits, want := range map[int]string{
		30_000: "a number of more than 1000 digits",
		1_000:  "the result is too large",
	} {
		got := callTool(t, h, "t", `{"n":`+strings.Repeat("9", digits)+`}`)
		if !strings.Contains(got, want) || !strings.Contains(got, `"isError":true`) {
			t.Errorf("%d digits: got %.200s", digits, got)
		}
	}
}

func TestATimeoutSaysWhatWasTried(t *testing.T) {
	w := newFakeBackend()
	w.do["tries"] = func(ctx context.Context, _ *adapters.Call) (any, error) {
		<-ctx.Done()
		return nil, &adapters.Fault{Message: "the request was tried 3 times", Cause: ctx.Err()}
	}
	inBubble(t, tool("t", "timeout = \"60s\"\nfake { do = \"tries\" }"), w.use, func(t *testing.T, h *Host) {
		if got := callTool(t, h, "t", `{}`); !strings.Contains(got, "timed out after 60s; the request was tried 3 times") {
			t.Errorf("got %s", got)
		}
	})
}

func TestRepeatAsksUntilTheAnswerIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, asked := newFakeBackend(), 0
		w.do["counts"] = func(context.Context, *adapters.Call) (any, error) { asked++; return asked, nil }
		h := newHost(t, `
			tool "t" {
			  description = "A tool."
			  step "job" {
			    repeat {
			      until = "output.value == 3"
			      every = "2s"
			      max   = 5
			    }
			    fake { do = "counts" }
			    expect "not odd" { that = "output.value % 2 == 1" }
			  }
			  text = "asked ${step.job.value} times"
			}`, w.use)
		began := time.Now()
		if got := callTool(t, h, "t", `{}`); got != `{"content":[{"type":"text","text":"asked 3 times"}]}` {
			t.Errorf("got %s", got)
		}
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("took %v", took)
		}
		asked = 10
		if got := callTool(t, h, "t", `{}`); !strings.Contains(got, "after 5 attempts") {
			t.Errorf("got %s", got)
		}
	})
}

func TestFirstFailureStopsTheOtherElements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		var mu sync.Mutex
		begun := 0
		w.do["second fails"] = func(ctx context.Context, call *adapters.Call) (any, error) {
			mu.Lock()
			begun++
			n := begun
			mu.Unlock()
			if n == 2 {
				return nil, &adapters.Fault{Message: "the second"}
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		h := newHost(t, `tool "t" {
			description = "A tool."
			step "all" {
			  each     = [1, 2, 3, 4, 5, 6]
			  parallel = 2
			  fake { do = "second fails" }
			}
			text = "done"
		}`, w.use)
		if got := callTool(t, h, "t", `{}`); !strings.Contains(got, `: the second; it is not known whether the step \"all\" took effect`) {
			t.Errorf("got %s", got)
		}
		if begun != 2 {
			t.Errorf("%d elements were begun", begun)
		}
	})
}

func TestCancelledCallEnds(t *testing.T) {
	h := newHost(t, `tool "t" {
		description = "A tool."
		fake { do = "waits" }
	}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err := requestTool(ctx, h, &mcp.CallRequest{Name: "t", Arguments: []byte("{}"), Caller: &mcp.Caller{}})
	if err != nil || !out.IsError {
		t.Errorf("got %v, %v", out, err)
	}
}

// What went wrong stands at the end of a log. Values, and what is no log, read from their beginning.
func TestOfALogTheEndIsKeptToo(t *testing.T) {
	h := newHost(t, `tool "log" {
		description = "A tool."
		max_text    = 400
		input "lines" { type = integer }
		fake {
			log   = true
			value = join("\n", [for i in range(input.lines) : "this is line ${i}"])
		}
		text = "${output.value}"
	}
	tool "block" {
		description = "A tool."
		max_text    = 400
		input "lines" { type = integer }
		step "s" {
			tool "log" {
				lines = input.lines
			}
		}
		content "text" { text = "${step.s.text}" }
	}
	tool "fails" {
		description = "A tool."
		max_text    = 400
		input "lines" { type = integer }
		fake {
			log   = true
			value = join("\n", [for i in range(input.lines) : "this is line ${i}"])
		}
		expect {
			that    = "false"
			message = "it failed: ${output.value}"
		}
	}
	tool "values" {
		description = "A tool."
		max_text    = 400
		input "lines" { type = integer }
		fake {
			log   = true
			value = range(input.lines)
		}
	}`)
	for tool, want := range map[string]string{
		"log":    `"this is line 0\\n.* line [0-9]+\\n\[Truncated: 400 bytes of 1589 bytes are shown, the beginning and the end\. Ask for less with other values of .lines.\.\]\\nthis is line [0-9]+\\n.*line 99"`,
		"block":  `"this is line 0\\n.*are shown, the beginning and the end.*this is line 99"`,
		"fails":  `"it failed: this is line 0.*\[Truncated: 400 bytes of [0-9.]+.* are shown, the beginning and the end\.\]\\nthis is line [0-9]+\\n.*line 99"`,
		"values": `"\[0,1,.*\[Truncated: 400 bytes of [0-9]+ bytes are shown\. Ask for less with other values of .lines.\.\]"`,
	} {
		got := callTool(t, h, tool, `{"lines": 100}`)
		if tool == "values" {
			got = callTool(t, h, tool, `{"lines": 200}`)
		}
		if ok, err := regexp.MatchString(want, got); !ok || err != nil || len(got) > 2000 {
			t.Errorf("%s: %s, %v", tool, got, err)
		}
	}
}

func TestLongTextIsCutAndSaysSo(t *testing.T) {
	h := newHost(t, `tool "t" {
		description = "A tool."
		max_text    = 400
		input "lines" { type = integer }
		text = "%{for i in range(input.lines)}this is line ${i}\n%{endfor}"
	}
	tool "r" {
		description = "A tool."
		max_text    = 100
		input "n" { type = integer }
		result = "range(input.n)"
	}`)
	got := callTool(t, h, "t", `{"lines": 100}`)
	if !strings.Contains(got, `[Truncated: 400 bytes of 1590 bytes are shown. Ask for less with other values of `+"`lines`"+`.]`) || len(got) > 500 {
		t.Errorf("got %d bytes: %s", len(got), got)
	}
	if got := callTool(t, h, "t", `{"lines": 2}`); strings.Contains(got, "Truncated") {
		t.Errorf("got %s", got)
	}
	// What programs read has more room.
	if got := callTool(t, h, "r", `{"n": 60}`); !strings.Contains(got, `58,59]}`) || !strings.Contains(got, "Truncated: ") {
		t.Errorf("got %s", got)
	}
}

func TestLongListIsCutAtAnElement(t *testing.T) {
	h := newHost(t, `tool "list" {
		description = "A tool."
		max_text = 400
		input "n" { type = integer }
		result = "map(range(input.n), {{n: #}})"
	}
	tool "object" {
		description = "A tool."
		max_text = 400
		result = "{list: range(500)}"
	}
	tool "one" {
		description = "A tool."
		max_text = 400
		result = "[range(500)]"
	}`)
	got := callTool(t, h, "list", `{"n": 5000}`)
	_, structured, _ := strings.Cut(got, `"structuredContent":`)
	if !strings.Contains(structured, `{"n":169}]`) || strings.Contains(structured, `{"n":170}`) {
		t.Errorf("got %s", structured)
	}
	if !strings.Contains(got, "[There is more: 4 * max_text = 1600 bytes was reached. Ask for less") {
		t.Errorf("the answer does not say that it is cut: %s", got)
	}
	if got := callTool(t, h, "list", `{"n": 150}`); strings.Contains(got, "There is more") || !strings.Contains(got, `{"n":149}]`) {
		t.Errorf("got %s", got)
	}
	for _, name := range []string{"object", "one"} {
		got := callTool(t, h, name, `{}`)
		if !strings.Contains(got, "is too large to send: at most 1600 bytes, four times max_text of the tool") || !strings.Contains(got, `"isError":true`) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestPlanSaysWhatWouldBeSent(t *testing.T) {
	h := newHost(t, `tool "t" {
		description = "A tool."
		input "n" { type = integer }
		step "one" {
		   fake { value = input.n }
		 }
		step "two" {
		  when = "step.one.value > 1"
		  fake { value = step.one.value + 1 }
		}
		text = "done"
	}`)
	p, _ := h.Current().Program("t")
	plan, err := p.Plan(t.Context(), nil, []byte(`{"n": 4}`))
	want := "step \"one\":\nwould answer 4\nstep \"two\":\n(only when step.one.value > 1)\nnot known before the steps above have run\n"
	if err != nil || plan != want {
		t.Errorf("got %q, %v", plan, err)
	}
	if _, err := p.Plan(t.Context(), nil, []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "n: is required") {
		t.Errorf("got %v", err)
	}
}

func TestAPlanNeverShowsAStepThatHasNotRunAsNull(t *testing.T) {
	for _, reads := range []string{
		`fake { value = step.one == null ? 1 : 2 }`,
		`fake { value = try(step.one.value, 1) }`,
		`fake { value = can(step.one.value) ? 2 : 1 }`,
		`fake { value = { of = step.one } }`,
		`each = step.many
		 fake { value = each.key }`,
		`each = [for m in step.many : m.value]
		 fake { value = each.key }`,
	} {
		h := newHost(t, `tool "t" {
			description = "A tool."
			step "one" {
			  when = "1 == 2"
			  fake { value = 1 }
			}
			step "many" {
			  each = [1, 2]
			  fake { value = each.value }
			}
			step "reads" {
			  `+reads+`
			}
			text = "done"
		}`)
		p, _ := h.Current().Program("t")
		plan, err := p.Plan(t.Context(), nil, []byte(`{}`))
		if err != nil || !strings.HasSuffix(plan, "step \"reads\":\nnot known before the steps above have run\n") {
			t.Errorf("%s: got %q, %v", reads, plan, err)
		}
	}
}

// newTextCall returns a call of a tool that has a text and no steps.
func newTextCall(t testing.TB) func() {
	h := newHost(t, `tool "t" {
		description = "A tool."
		input "name" { type = string("Who", { max_length = 80 }) }
		input "number" { type = integer }
		text = "Hello ${input.name}, you are number ${input.number} in line."
	}`)
	return newRepeatedCall(t, h, &mcp.CallRequest{
		Name: "t", Arguments: []byte(`{"name":"Ada","number":7}`), Caller: &mcp.Caller{Revision: mcp.Revision20251125},
	})
}

// A call of a text allocates so much that a larger field of the frame, or a copy of it, is noticed.
func TestACallOfATextAllocatesLittle(t *testing.T) {
	needsOwnNames(t, "the test allocates for the request of an executor")
	call := newTextCall(t)
	const maxBytes, maxAllocs = 472, 9
	fewest := uint64(1) << 62
	for range 100 {
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		call()
		goruntime.ReadMemStats(&after)
		fewest = min(fewest, after.TotalAlloc-before.TotalAlloc)
	}
	if raceAllocations == 0 && fewest > maxBytes {
		t.Errorf("a call allocates %d bytes, want at most %d", fewest, maxBytes)
	}
	if n := leastAllocs(call); n > maxAllocs+raceAllocations {
		t.Errorf("a call allocates %v times, want at most %d", n, maxAllocs)
	}
}

func BenchmarkTextTool(b *testing.B) {
	call := newTextCall(b)
	b.ReportAllocs()
	for b.Loop() {
		call()
	}
}

// allocated returns how many bytes a function allocates, at least.
func allocated(do func()) uint64 {
	fewest := uint64(1) << 62
	for range 3 {
		var before, after goruntime.MemStats
		goruntime.GC()
		goruntime.ReadMemStats(&before)
		do()
		goruntime.ReadMemStats(&after)
		fewest = min(fewest, after.TotalAlloc-before.TotalAlloc)
	}
	return fewest
}

// Events and audit records have the beginning of large arguments. Neither makes a copy of them, also where they are
// refused, and where an input is sensitive.
func TestRecordsOfACallCopyNoArguments(t *testing.T) {
	const tools = `
tool "takes" {
  description = "A tool."
  input "text" { type = optional(string, "") }
  input "list" { type = optional(list(number), []) }
  input "pin" {
    type      = optional(string, "")
    sensitive = true
  }
  text = "ok"
}
`
	plain := newHost(t, tools)
	watched, _ := newAuditedHost(t, "events { arguments = \"redacted\" }\n"+tools)
	recordAll(t, watched)
	const size = 3 << 20
	ones := "[" + strings.Repeat("1,", size/2) + "1]"
	for _, c := range sampletest.Of(t, 2, []struct{ name, arguments string }{
		{"a text", `{"text":"` + strings.Repeat("a", size) + `"}`},
		{"a list", `{"list":` + ones + `}`},
		{"a list and a PIN", `{"list":` + ones + `,"pin":"123456"}`},
		{"a large PIN", `{"pin":"` + strings.Repeat("7", size) + `"}`},
		{"a list for a text", `{"text":` + ones + `}`},
		{"many wrong numbers", `{"list":[` + strings.Repeat(`"x",`, size/4) + `1]}`},
		{"an unknown member", `{"other":` + ones + `,"pin":"123456"}`},
	}) {
		want := allocated(func() { callTool(t, plain, "takes", c.arguments) })
		got := allocated(func() { callTool(t, watched, "takes", c.arguments) })
		if got > want+size/2 {
			t.Errorf("%s: %d bytes, and %d without events and audit log", c.name, got, want)
		}
	}
}

// Arguments of prompts, what completions know, and answers are decoded as far as they are used.
func TestPromptsAndCompletionsCostAtMostFourTimesTheirRequest(t *testing.T) {
	h := newHost(t, `
prompt "p" {
  description = "A prompt."
  argument "x" { complete = ["one", "two"] }
  message "user" { text = "ok" }
}`)
	const size = 3 << 20
	ones := "[" + strings.Repeat("1,", size/2) + "1]"
	members := map[string]string{}
	for name, member := range map[string]string{"a list": `"x":` + ones, "a text": `"x":"` + strings.Repeat("a", size) + `"`} {
		members[name] = "{" + member + "}"
	}
	var many strings.Builder
	for i := 0; many.Len() < size; i++ {
		fmt.Fprintf(&many, `,"%x":""`, i)
	}
	members["many members"] = `{"x":""` + many.String() + `}`
	for name, arguments := range members {
		caller := &mcp.Caller{Revision: mcp.Revision20260728}
		prompt := allocated(func() {
			h.GetPrompt(t.Context(), &mcp.CallRequest{Name: "p", Arguments: []byte(arguments), Caller: caller})
		})
		completion := allocated(func() {
			h.Complete(t.Context(), &mcp.CompleteRequest{Kind: "prompt", Name: "p", Argument: "x", Context: []byte(arguments),
				Caller: caller})
		})
		if limit := uint64(3 * len(arguments)); prompt-uint64(len(arguments)) > limit || completion-uint64(len(arguments)) > limit {
			t.Errorf("%s of %d bytes: %d for a prompt, %d for a completion", name, len(arguments), prompt, completion)
		}
	}
}

// Checking arguments ends with the timeout of the call, with steps and without.
func TestCheckingArgumentsEndsWithTheTimeout(t *testing.T) {
	for _, does := range []string{`text = "done"`, `fake { value = 1 }`} {
		h := newHost(t, `tool "t" {
			description = "A tool."
			timeout     = "100ms"
			input "x" { type = list(string({ pattern = "^(a?){400}b?$" })) }
			`+does+`
		}`)
		began := time.Now()
		got := callTool(t, h, "t", `{"x":[`+strings.Repeat(`"`+strings.Repeat("a", 30)+`",`, 100_000)+`"a"]}`)
		if took := time.Since(began); took > maxWait || !strings.Contains(got, "timeout of 100ms") ||
			!strings.Contains(got, "othing was done") {
			t.Errorf("%s: after %v: %s", does, took, got)
		}
	}
}
