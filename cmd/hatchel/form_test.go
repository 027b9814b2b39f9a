package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/runtime"
	"hatchel/runtime/mcp"
)

const asksAll = `
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

// opening is the folder of a test.
func opening(t *testing.T, src string) *runtime.Generation {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.hcl"), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	g, err := new(loading).ready(t.Context(), dir, &said)
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// filling calls a tool at a terminal, where something is typed, and returns what it answered.
func filling(ctx context.Context, t *testing.T, tool, arguments string, typed io.Reader, screen io.Writer) (string, error) {
	t.Helper()
	p, ok := opening(t, asksAll).Program(tool)
	if !ok {
		t.Fatal("there is no such tool")
	}
	talk := &interview{about: tool, asks: asksOf(&p.Tool().Operation), form: newForm(typed, screen)}
	answered := ""
	err := talk.conduct(ctx, []byte(arguments), func(req *mcp.CallRequest) (*mcp.Questions, error) {
		out, err := p.RunToEnd(ctx, req)
		if err == nil && out.Questions == nil {
			answered = string(out.AppendResult(nil, mcp.Revision20251125))
		}
		return out.Questions, err
	})
	return answered, err
}

func TestAFormIsFilledInLineByLineUntilItFits(t *testing.T) {
	typed := "J\nJo\nmany\n0\n3\nmedium\nlarge\nmilk, salt\nmilk,sugar\nmaybe\nno\n\n\nmaybe\nagain\n" +
		"Jo\n3\nl\n\ny\nfor later\n1.5\nyes\n" + // the same form once more
		"\nd\n" // the question after it
	var screen bytes.Buffer
	got, err := filling(t.Context(), t, "order", `{"what": "tea"}`, strings.NewReader(typed), &screen)
	if err != nil {
		t.Fatal(err)
	}
	want := `"structuredContent":{"form":{"away":true,"count":3,"extra":["milk"],"name":"Jo","note":"for later","price":1.5,"size":"l"},"sure":"decline"}`
	if !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, line := range []string{
		`order asks "form"`, "How is tea served?", "Name: Who it is for (at least 2 characters)",
		"This does not fit: must have at least 2 characters, got 1", "How many (a whole number, at least 1, at most 9)", "This does not fit: must be an integer",
		"This does not fit: must be at least 1, got 0", "size (one of s (Small), l (Large))", `got the string "medium"`,
		"extra (any of milk, sugar with commas between them, left empty it is milk)", "away (yes or no)", "note (may be left empty)",
		"price (a number, left empty it is 2.5)", "Send this? [yes/again/decline/cancel]", "Jo, are you sure?", "Do you agree? [yes/decline/cancel]",
	} {
		if !strings.Contains(screen.String(), line) {
			t.Errorf("%q is not shown:\n%s", line, &screen)
		}
	}
}

func TestWhatIsAskedAtATerminalIsAnsweredByItsKind(t *testing.T) {
	for _, c := range []struct{ name, tool, typed, want string }{
		{"a page that was opened", "page", "y\n", `"text":"accept"`},
		{"a page that was not", "page", "no\ndecline\n", `The user declined to answer the question \"page\".`},
		{"an input that ends", "page", "", `The user dismissed the question \"page\" without an answer.`},
		{"a paragraph", "model", "\nA thing.\nOf two lines.\n\n", `"text":"A thing.\nOf two lines."`},
		{"a paragraph that ends with the input", "model", "A thing.", `"text":"A thing."`},
		{"folders", "folders", "/a b\nhttps://shop.example/x\n\n", `["file:///a%20b","https://shop.example/x"]`},
		{"no folders", "folders", "\n", `[]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var screen bytes.Buffer
			got, err := filling(t.Context(), t, c.tool, "{}", strings.NewReader(c.typed), &screen)
			if err != nil || !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s (%v)\n%s", got, c.want, err, &screen)
			}
		})
	}
}

func TestAModelWithoutAnAnswerEndsTheCall(t *testing.T) {
	got, err := filling(t.Context(), t, "model", "{}", strings.NewReader(""), io.Discard)
	if got != "" || err == nil || !strings.Contains(err.Error(), "model was given no answer") {
		t.Errorf("got %s (%v)", got, err)
	}
}

func TestWhatAMessageQuotesDoesNotSteerTheTerminal(t *testing.T) {
	var screen bytes.Buffer
	filling(t.Context(), t, "order", `{"what": "\u001b[2Jtea\r\u009b31m\u202e"}`, strings.NewReader(""), &screen)
	if strings.ContainsAny(screen.String(), "\x1b\r\u009b\u202e") || !strings.Contains(screen.String(), "tea") {
		t.Errorf("%q", screen.String())
	}
}

// interrupted is a screen before which somebody presses Ctrl-C when a field is shown.
type interrupted struct{ interrupt func() }

func (s interrupted) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "name> ") {
		s.interrupt()
	}
	return len(p), nil
}

func TestAnInterruptEndsTheCallThatAsks(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	typed, keys := io.Pipe()
	defer keys.Close()
	got, err := filling(ctx, t, "order", `{"what": "tea"}`, typed, interrupted{cancel})
	if got != "" || err == nil || !strings.Contains(err.Error(), "nothing after the question was done") {
		t.Errorf("got %s (%v)", got, err)
	}
}
