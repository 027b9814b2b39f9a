package runtime

import (
	"testing"
)

// What becomes of one question, by what the client can do and answers.
var questions = []struct{ claim, ask, capabilities, answer, want string }{
	{"a user who declines ends the call",
		`elicit { message = "Who?" }`, everything, `{"action":"decline"}`,
		`error: The user declined to answer the question "q".`},
	{"a user who goes away ends the call",
		`elicit { message = "Who?" }`, everything, `{"action":"cancel"}`,
		`error: The user dismissed the question "q" without answering.`},
	{"that a user declines can be an answer",
		`elicit {
		   message    = "Who?"
		   fields     = object({ name = string })
		   on_decline = "continue"
		 }`, everything, `{"action":"decline","content":{"name":"x"}}`,
		`{"action":"decline","content":null}`},
	{"a form gives what was filled in, with defaults, and nothing else",
		`elicit {
		   message = "Who?"
		   fields  = object({ name = string, n = optional(integer, 7) })
		 }`, `{"elicitation":{"form":{}}}`, `{"action":"accept","content":{"name":"x","else":1}}`,
		`{"action":"accept","content":{"n":7,"name":"x"}}`},
	{"a page gives that it was agreed to",
		`elicit {
		   message = "Look."
		   url     = "https://x.example/a"
		 }`, `{"elicitation":{"url":{}}}`, `{"action":"accept","content":{"x":1}}`,
		`{"action":"accept"}`},
	{"a client that shows forms does not open pages",
		`elicit {
		   message = "Look."
		   url     = "https://x.example/a"
		 }`, `{"elicitation":{}}`, ``,
		`error: The question "q" requires a client with the capability "elicitation.url", and yours does not declare it. Nothing after the question was done.`},
	{"a client that opens pages need not show forms",
		`elicit { message = "Who?" }`, `{"elicitation":{"url":{}}}`, ``,
		`error: The question "q" requires a client with the capability "elicitation", and yours does not declare it. Nothing after the question was done.`},
	{"a client that cannot be asked gets the fallback",
		`fallback = { name = "nobody" }
		 elicit {
		   message = "Who?"
		   fields  = object({ name = string })
		 }`, `{}`, ``,
		`{"action":"fallback","content":{"name":"nobody"}}`},
	{"a model answers",
		`sample { prompt = "Hello" }`, everything, `{"role":"assistant","model":"m","stopReason":"endTurn","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`,
		`{"content":[{"text":"a","type":"text"},{"text":"b","type":"text"}],"model":"m","role":"assistant","stop_reason":"endTurn","text":"ab"}`},
	{"a model has a fallback",
		`fallback = "none"
		 sample { prompt = "Hello" }`, `{"elicitation":{}}`, ``,
		`{"content":{"text":"none","type":"text"},"model":null,"role":"assistant","stop_reason":null,"text":"none"}`},
	{"folders are listed",
		`roots { }`, `{"roots":{"listChanged":true}}`, `{"roots":[{"uri":"file:///a"},{"uri":"file:///b","name":"B"}]}`,
		`{"roots":[{"name":null,"uri":"file:///a"},{"name":"B","uri":"file:///b"}]}`},
	{"who is not to be asked is not",
		`when = "false"
		 roots { }`, `{}`, ``,
		`null`},
}

func TestQuestions(t *testing.T) {
	for _, c := range questions {
		t.Run(c.claim, func(t *testing.T) {
			h := newHost(t, tool("t", "step \"s\" {\nask \"q\" {\n"+c.ask+"\n}\n}\nresult = \"step.s.q\""))
			req := modernRequest("t", `{}`, c.capabilities)
			r := mustCall(t, h, req)
			if c.answer != "" {
				if r.keys() != "q" {
					t.Fatalf("%+v", r)
				}
				r = mustCall(t, h, retryRequest(req, r.RequestState, `{"q":`+c.answer+`}`))
			}
			got := r.text()
			if r.IsError {
				got = "error: " + got
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAQuestionReadsAsItsAuthorWroteIt(t *testing.T) {
	h := newHost(t, `secret "token" { env = "TOKEN" }`+"\n"+tool("t", `
input "words" { type = list(string) }
step "s" {
  ask "form" {
    elicit {
      message = "Who are you?"
      fields  = object({ name = string("Full name"), color = enum("red", "blue") })
    }
  }
  ask "page" {
    elicit {
      message = "Look."
      url     = "https://x.example/a?q=${input.words[0]}"
    }
  }
  ask "model" {
    sample {
      message "user" {
        each = input.words
        text = "Say ${each.value}"
      }
      message "assistant" {
        when = "length(input.words) > 2"
        text = "No"
      }
      message "user" { text = "Now" }
      system       = "Be brief."
      max_tokens   = 20
      temperature  = 0.5
      stop         = ["."]
      models       = ["a", "b"]
      cost         = 0.25
      include      = "none"
    }
  }
  ask "folders" {
    roots { }
  }
}
text = "done"`))
	out, err := requestTool(t.Context(), h, modernRequest("t", `{"words":["a b","s3cr3t/\"tok\"en"]}`, `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`))
	if err != nil || out.Questions == nil {
		t.Fatalf("%+v %v", out, err)
	}
	want := map[string]string{
		"form":    `elicitation/create {"message":"Who are you?","mode":"form","requestedSchema":{"type":"object","properties":{"name":{"type":"string","description":"Full name"},"color":{"type":"string","enum":["red","blue"]}},"required":["name","color"]}}`,
		"page":    `elicitation/create {"message":"Look.","mode":"url","url":"https://x.example/a?q=a%20b"}`,
		"model":   `sampling/createMessage {"messages":[{"role":"user","content":{"type":"text","text":"Say a b"}},{"role":"user","content":{"type":"text","text":"Say (secret)"}},{"role":"user","content":{"type":"text","text":"Now"}}],"maxTokens":20,"systemPrompt":"Be brief.","temperature":0.5,"stopSequences":["."],"includeContext":"none","modelPreferences":{"hints":[{"name":"a"},{"name":"b"}],"costPriority":0.25}}`,
		"folders": `roots/list {}`,
	}
	for _, q := range out.Questions.Ask {
		if got := q.Method + " " + string(q.Params); got != want[q.Key] {
			t.Errorf("%s\ngot  %s\nwant %s", q.Key, got, want[q.Key])
		}
	}
}
