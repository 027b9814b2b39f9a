package hcl_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	. "hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// questions loads a tool whose one step asks, and gives its questions by key.
func questions(t testing.TB, asks string) map[string]*Ask {
	t.Helper()
	byKey := map[string]*Ask{}
	for _, a := range askStep(t, asks).Config.(*AskGroup).Asks {
		byKey[a.Key] = a
	}
	return byKey
}

// askStep returns the backend of a step with ask blocks.
func askStep(t testing.TB, asks string) *Backend {
	t.Helper()
	src := "tool \"t\" {\n  description = \"Asks.\"\n  input \"name\" { type = string }\n  step \"s\" {\n" + asks + "\n  }\n  text = \"${input.name}\"\n}\n"
	return offered(t, src).Tools[0].Steps[0].Backend
}

func fromJSON(t *testing.T, text string) any {
	t.Helper()
	v, err := value.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const everyField = `
    ask "form" {
      elicit {
        message = "Please."
        fields = object({
          name   = string("Full name", { min_length = 1, max_length = 80, title = "Name" })
          email  = optional(string("Address", { format = "email" }))
          age    = optional(integer("Years", { min = 0, max = 150 }), 30)
          score  = optional(number, 95.5)
          agree  = optional(bool, true)
          status = optional(enum("active", "inactive"), "active")
          size   = enum({ s = "Small", l = "Large" })
          old    = string("Legacy", { enum = ["a", "b"], schema = { enumNames = ["A", "B"] } })
          days   = list(enum("mon", "tue"), "Days", { min_items = 1, max_items = 2 })
          colors = optional(list(enum({ r = "Red", b = "Blue" })), ["r"])
        })
      }
    }
    ask "sure" {
      elicit {
        message    = "Sure?"
        on_decline = "continue"
      }
    }
    ask "page" {
      fallback = {}
      elicit {
        message = "Sign in."
        url     = "https://shop.example/sign-in/${input.name}?next=${input.name}"
      }
    }
    ask "model" {
      fallback = "Nothing to say of ${input.name}."
      sample { prompt = "Say something." }
    }
    ask "dirs" {
      fallback = [{ uri = "file:///${input.name}" }]
      roots {}
    }`

func TestAFormIsAskedForInTheFewFormsOfTheProtocol(t *testing.T) {
	asks := questions(t, everyField)
	want := `{"type":"object","properties":{` +
		`"name":{"type":"string","title":"Name","description":"Full name","minLength":1,"maxLength":80},` +
		`"email":{"type":"string","description":"Address","format":"email"},` +
		`"age":{"type":"integer","description":"Years","minimum":0,"maximum":150,"default":30},` +
		`"score":{"type":"number","default":95.5},` +
		`"agree":{"type":"boolean","default":true},` +
		`"status":{"type":"string","enum":["active","inactive"],"default":"active"},` +
		`"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},` +
		`"old":{"type":"string","description":"Legacy","enum":["a","b"],"enumNames":["A","B"]},` +
		`"days":{"type":"array","description":"Days","items":{"type":"string","enum":["mon","tue"]},"minItems":1,"maxItems":2},` +
		`"colors":{"type":"array","items":{"anyOf":[{"const":"r","title":"Red"},{"const":"b","title":"Blue"}]},"default":["r"]}},` +
		`"required":["name","size","old","days"]}`
	if got := string(asks["form"].Elicit.AppendSchema(nil)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got, want := string(asks["sure"].Elicit.AppendSchema([]byte("x"))), `x{"type":"object","properties":{}}`; got != want {
		t.Errorf("a question without fields: got %s, want %s", got, want)
	}
}

func TestAnAnswerIsReadAsItWasAskedFor(t *testing.T) {
	asks := questions(t, everyField)
	for _, c := range []struct{ key, sent, want string }{
		{"form", `{"action":"accept","content":{"name":"Jo","size":"s","old":"a","days":["mon"],"email":null,"age":25.0,"unasked":{"x":1}}}`,
			`{"action":"accept","content":{"age":25,"agree":true,"colors":["r"],"days":["mon"],"name":"Jo","old":"a","score":95.5,"size":"s","status":"active"}}`},
		{"sure", `{"action":"accept"}`, `{"action":"accept","content":{}}`},
		{"sure", `{"action":"accept","content":{"ok":true}}`, `{"action":"accept","content":{}}`},
		{"sure", `{"action":"decline","content":{"ok":true}}`, `{"action":"decline","content":null}`},
		{"sure", `{"action":"cancel"}`, `{"action":"cancel","content":null}`},
		{"page", `{"action":"accept","content":{"x":1}}`, `{"action":"accept"}`},
		{"model", `{"role":"assistant","model":"m","stopReason":"endTurn","content":{"type":"text","text":"Hi"}}`,
			`{"content":{"text":"Hi","type":"text"},"model":"m","role":"assistant","stop_reason":"endTurn","text":"Hi"}`},
		{"model", `{"content":[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"image/png"},{"type":"text","text":"b"}]}`,
			`{"content":[{"text":"a","type":"text"},{"data":"","mimeType":"image/png","type":"image"},{"text":"b","type":"text"}],"model":null,"role":"assistant","stop_reason":null,"text":"ab"}`},
		{"dirs", `{"roots":[{"uri":"file:///a","name":"A","_meta":{}},{"uri":"file:///b"}]}`,
			`{"roots":[{"name":"A","uri":"file:///a"},{"name":null,"uri":"file:///b"}]}`},
		{"dirs", `{"roots":[]}`, `{"roots":[]}`},
	} {
		got, err := asks[c.key].ParseResponse(fromJSON(t, c.sent), schema.Unlimited)
		if err != nil {
			t.Errorf("%s: %s: %v", c.key, c.sent, err)
			continue
		}
		text, err := value.AppendJSON(nil, any(got))
		if err != nil || !reflect.DeepEqual(fromJSON(t, string(text)), fromJSON(t, c.want)) {
			t.Errorf("%s: %s: got %s, want %s (%v)", c.key, c.sent, text, c.want, err)
		}
	}
}

func FuzzAnAnswerHasTheTypeThatStepsReadItWith(f *testing.F) {
	for _, seed := range []string{
		`{"action":"accept","content":{"name":"Jo","size":"s","old":"a","days":["mon"]}}`, `{"action":"decline"}`, `{"action":"accept"}`, `12345`,
		`{"role":"assistant","model":"m","content":{"type":"text","text":"Hi"}}`, `{"content":[{"type":"image"}]}`, `{"roots":[{"uri":"file:///a","name":3}]}`,
	} {
		f.Add([]byte(seed))
	}
	step := askStep(f, everyField)
	f.Fuzz(func(t *testing.T, sent []byte) {
		v, err := value.Decode(sent)
		if err != nil {
			return
		}
		for i, a := range step.Config.(*AskGroup).Asks {
			key, output := a.Key, step.Effects.Output.Members[i].Type
			answer, err := a.ParseResponse(v, schema.Unlimited)
			if err != nil {
				if answer != nil || err.Error() == "" {
					t.Errorf("%s: %s: %v beside %v", key, sent, err, answer)
				}
				continue
			}
			if _, violations, _ := output.Compile().Check(any(answer), schema.Unlimited); len(violations) > 0 {
				t.Errorf("%s: %s became %v, which does not fit %s: %s", key, sent, answer, output, violations[0])
			}
		}
	})
}

func TestAWrongAnswerSaysWhatIsWrong(t *testing.T) {
	asks := questions(t, everyField)
	for _, c := range []struct{ key, sent, want string }{
		{"form", `12345`, "must be an object"},
		{"form", `null`, "must be an object"},
		{"form", `{}`, `action: must be "accept", "decline" or "cancel"`},
		{"form", `{"action":"agree","content":{}}`, `action: must be "accept", "decline" or "cancel"`},
		{"form", `{"action":"accept"}`, "name: is required; size: is required; old: is required; days: is required"},
		{"form", `{"action":"accept","content":[]}`, "must be an object, got a list of 0"},
		{"form", `{"action":"accept","content":{"name":"","size":"m","old":"a","days":["sun"],"age":-1,"email":"me"}}`,
			`name: must have at least 1 character, got 0; email: must be an email address, got the string "me"; age: must be at least 0, got -1; size: must be one of "s", "l", got the string "m"; days[0]: must be one of "mon", "tue", got the string "sun"`},
		{"page", `{"action":1}`, `action: must be "accept", "decline" or "cancel"`},
		{"model", `{"role":"assistant"}`, "content: must be an object or a list of objects"},
		{"model", `{"content":[{"text":"a"}]}`, "content[0].type: must be a string"},
		{"model", `{"content":{"type":"text"}}`, "content[0].text: must be a string"},
		{"dirs", `{"roots":{}}`, "roots: must be a list"},
		{"dirs", `{"roots":[{"uri":"file:///a"},{"name":"x"}]}`, "roots[1].uri: must be a string"},
	} {
		_, err := asks[c.key].ParseResponse(fromJSON(t, c.sent), schema.Unlimited)
		var wrong *InvalidAnswerError
		if !errors.As(err, &wrong) || wrong.Error() != c.want || wrong.Key != c.key {
			t.Errorf("%s: %s: got %v, want %s", c.key, c.sent, err, c.want)
		}
	}
}

func TestADeclinedQuestionEndsTheCallUnlessItIsAnAnswer(t *testing.T) {
	asks := questions(t, everyField)
	for key, sent := range map[string]string{"form": `{"action":"decline"}`, "page": `{"action":"cancel"}`} {
		_, err := asks[key].ParseResponse(fromJSON(t, sent), schema.Unlimited)
		var declined *DeclinedError
		if !errors.As(err, &declined) || declined.Key != key || !strings.Contains(err.Error(), `"`+key+`"`) {
			t.Errorf("%s: %s: got %v", key, sent, err)
		}
	}
}

func TestAFallbackAnswersForAClientThatCannotBeAsked(t *testing.T) {
	asks := questions(t, everyField)
	f := frameOf(t, map[string]any{"name": "jo"})
	for key, want := range map[string]string{
		"page":  `{"action":"fallback"}`,
		"model": `{"content":{"text":"Nothing to say of jo.","type":"text"},"model":null,"role":"assistant","stop_reason":null,"text":"Nothing to say of jo."}`,
		"dirs":  `{"roots":[{"name":null,"uri":"file:///jo"}]}`,
	} {
		got, err := asks[key].FallbackAnswer(f)
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		text, err := value.AppendJSON(nil, any(got))
		if err != nil || !reflect.DeepEqual(fromJSON(t, string(text)), fromJSON(t, want)) {
			t.Errorf("%s: got %s, want %s (%v)", key, text, want, err)
		}
	}
}

func TestAFallbackOfACallIsCheckedLikeAnAnswer(t *testing.T) {
	asks := questions(t, `
    ask "form" {
      fallback = { name = input.name }
      elicit {
        message = "Who?"
        fields  = object({ name = string("Name", { max_length = 3 }), age = optional(integer, 30) })
      }
    }`)
	got, err := asks["form"].FallbackAnswer(frameOf(t, map[string]any{"name": "jo"}))
	if want := map[string]any{"action": "fallback", "content": map[string]any{"name": "jo", "age": 30}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
	if _, err := asks["form"].FallbackAnswer(frameOf(t, map[string]any{"name": "joanna"})); err == nil || !strings.Contains(err.Error(), `"form"`) {
		t.Errorf("a fallback that does not fit was taken: %v", err)
	}
}

func TestWhatACallerSendsIsNeverTheHostOfAPage(t *testing.T) {
	page := questions(t, everyField)["page"].Elicit.URL
	got, err := page.Bind(frameOf(t, map[string]any{"name": "a@evil.example:1&x=?#"}), nil)
	if want := "https://shop.example/sign-in/a%40evil.example%3A1%26x%3D%3F%23?next=a%40evil.example%3A1%26x%3D%3F%23"; err != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
	if got, err := page.Bind(frameOf(t, map[string]any{"name": "../.."}), nil); err == nil {
		t.Errorf("a name that leaves its place was taken: %s", got)
	}
}
