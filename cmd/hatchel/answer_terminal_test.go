package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/edge/mcp"
)

const questionTools = `
tool "order" {
  description = "Ask for an order."
  input "what" { type = string }
  step "one" {
    ask "form" {
      elicit {
        message = "How is ${input.what} served?"
        fields = object({
          name  = string("Who it is for", { title = "Name", min_length = 2 })
          count = integer("How many", { min = 1, max = 9 })
          size  = enum({ s = "Small", l = "Large" })
          extra = optional(list(enum("milk", "sugar")), ["milk"])
          away  = bool
          note  = optional(string)
          price = optional(number, 2.5)
        })
      }
    }
  }
  step "two" {
    ask "sure" {
      elicit {
        message    = "${step.one.form.content.name}, are you sure?"
        on_decline = "continue"
      }
    }
  }
  result = "{form: step.one.form.content, sure: step.two.sure.action}"
}
tool "page" {
  description = "Ask to open a page."
  step "s" {
    ask "page" {
      elicit {
        message = "Sign in."
        url     = "https://shop.example/sign-in"
      }
    }
  }
  result = "step.s.page.action"
}
tool "model" {
  description = "Ask the model."
  step "s" {
    ask "model" {
      sample {
        system = "Be short."
        prompt = "What is it?"
      }
      fallback = "nobody was there"
    }
  }
  text = step.s.model.text
}
tool "folders" {
  description = "Ask for folders."
  step "s" {
    ask "dirs" {
      roots {}
    }
  }
  result = "map(step.s.dirs.roots, .uri)"
}
`

// compileTools compiles questionTools.
func compileTools(t *testing.T) *runtime.Generation {
	t.Helper()
	files := fstest.MapFS{"a.hcl": &fstest.MapFile{Data: []byte(questionTools)}}
	config, diags := hcl.Load(files, all.Set().Kinds(), hcl.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	g, diags := runtime.Compile(t.Context(), config, runtime.Build{Set: all.Set(), Log: slog.New(slog.DiscardHandler)})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// callOnTerminal calls a tool with what is typed on a terminal, and returns the result.
func callOnTerminal(ctx context.Context, t *testing.T, tool, arguments string, typed io.Reader, screen io.Writer) (string, error) {
	t.Helper()
	p, ok := compileTools(t).Program(tool)
	if !ok {
		t.Fatalf("no tool %s", tool)
	}
	questions, err := newPrompter(&p.Tool().Operation, nil, newPromptTerminal(typed, screen))
	if err != nil {
		t.Fatal(err)
	}
	answered := ""
	caller := &mcp.Caller{Revision: mcp.Revision20260728}
	err = questions.Run(ctx, caller, []byte(arguments), func(req *mcp.CallRequest) (*mcp.Questions, error) {
		out, err := p.RunToEnd(ctx, req, nil)
		if err == nil && out.Questions == nil {
			answered = string(out.AppendResult(nil, mcp.Revision20251125))
		}
		return out.Questions, err
	})
	return answered, err
}

func TestAFormIsReadFieldByFieldUntilEachIsValid(t *testing.T) {
	typed := "J\nJo\nmany\n0\n3\nlarge\nl\n[\"milk\", \"salt\"]\n[\"milk\"]\nmaybe\ntrue\nfor later\n1.5\nyes\naccept\n" +
		"decline\n" // the second question
	var screen bytes.Buffer
	got, err := callOnTerminal(t.Context(), t, "order", `{"what": "tea"}`, strings.NewReader(typed), &screen)
	if err != nil {
		t.Fatalf("%v\n%s", err, &screen)
	}
	want := `"structuredContent":{"form":{"away":true,"count":3,"extra":["milk"],"name":"Jo","note":"for later","price":1.5,"size":"l"},"sure":"decline"}`
	if !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, line := range []string{
		`order asks "form"`, "How is tea served?", "Who it is for\nname (string): ",
		"Not valid: must have at least 2 characters, got 1", "How many\ncount (integer): ", "Not valid: must be an integer",
		"Not valid: must be at least 1, got 0", `size (enum("s", "l")): `, `got the string "large"`,
		"extra (list(enum(\"milk\", \"sugar\")), optional): ", "away (bool): ", "note (string, optional): ",
		"Jo, are you sure?\naccept, decline or cancel: ",
	} {
		if !strings.Contains(screen.String(), line) {
			t.Errorf("%q is not shown:\n%s", line, &screen)
		}
	}
}

func TestAQuestionOnATerminalIsAnsweredByItsKind(t *testing.T) {
	for _, c := range []struct{ name, tool, typed, want string }{
		{"URL accepted", "page", "accept\n", `"text":"accept"`},
		{"URL declined", "page", "no\ndecline\n", `The user declined to answer the question \"page\".`},
		{"end of the input", "page", "", `The user dismissed the question \"page\" without answering.`},
		{"sampling", "model", "A thing.\nOf two lines.\n\n", `"text":"A thing.\nOf two lines."`},
		{"sampling up to the end of the input", "model", "A thing.", `"text":"A thing."`},
		{"roots", "folders", "/a b\nhttps://shop.example/x\n\n", `["file:///a%20b","https://shop.example/x"]`},
		{"no roots", "folders", "\n", `[]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var screen bytes.Buffer
			got, err := callOnTerminal(t.Context(), t, c.tool, "{}", strings.NewReader(c.typed), &screen)
			if err != nil || !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s (%v)\n%s", got, c.want, err, &screen)
			}
		})
	}
}

func TestSamplingWithoutAnAnswerEndsTheCall(t *testing.T) {
	got, err := callOnTerminal(t.Context(), t, "model", "{}", strings.NewReader(""), io.Discard)
	if got != "" || err == nil || !strings.Contains(err.Error(), "model got no answer") {
		t.Errorf("got %s (%v)", got, err)
	}
}

func TestAMessageCannotControlTheTerminal(t *testing.T) {
	var screen bytes.Buffer
	callOnTerminal(t.Context(), t, "order", `{"what": "\u001b[2Jtea\r\u009b31m\u202e"}`, strings.NewReader(""), &screen)
	if strings.ContainsAny(screen.String(), "\x1b\r\u009b\u202e") || !strings.Contains(screen.String(), "tea") {
		t.Errorf("%q", screen.String())
	}
}

// interruptingScreen interrupts the command when a field is shown.
type interruptingScreen struct{ interrupt func() }

func (s interruptingScreen) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "name (string): ") {
		s.interrupt()
	}
	return len(p), nil
}

func TestAnInterruptAtAQuestionEndsTheCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	typed, keys := io.Pipe()
	defer keys.Close()
	got, err := callOnTerminal(ctx, t, "order", `{"what": "tea"}`, typed, interruptingScreen{cancel})
	if got != "" || err == nil || !strings.Contains(err.Error(), "nothing after the question was done") {
		t.Errorf("got %s (%v)", got, err)
	}
}
