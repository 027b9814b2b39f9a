package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hatchel/hcl/value"
)

// lenientInputs has an input of every kind.
var lenientInputs = ObjectOf(
	&Member{Name: "s", Type: &Type{Kind: String}, Optional: true},
	&Member{Name: "n", Type: &Type{Kind: Number}, Optional: true},
	&Member{Name: "i", Type: &Type{Kind: Integer}, Optional: true},
	&Member{Name: "b", Type: &Type{Kind: Bool}, Optional: true},
	&Member{Name: "any", Type: &Type{Kind: Any}, Optional: true},
	&Member{Name: "null_i", Type: &Type{Kind: Integer, Nullable: true}, Optional: true},
	&Member{Name: "texts", Type: ListOf(&Type{Kind: String}), Optional: true},
	&Member{Name: "numbers", Type: &Type{Kind: Set, Elem: &Type{Kind: Number}}, Optional: true},
	&Member{Name: "map", Type: &Type{Kind: Map, Elem: &Type{Kind: Integer}}, Optional: true},
	&Member{Name: "o", Type: ObjectOf(
		&Member{Name: "a", Type: &Type{Kind: Integer}, Optional: true},
		&Member{Name: "t", Type: &Type{Kind: String}, Optional: true},
		&Member{Name: "toolCallId", Type: &Type{Kind: Integer}, Optional: true},
	), Optional: true},
	&Member{Name: "n_or_s", Type: &Type{OneOf: []*Type{{Kind: Number}, {Kind: String}}}, Optional: true},
	&Member{Name: "n_or_o", Type: &Type{OneOf: []*Type{{Kind: Number}, ObjectOf(&Member{Name: "a", Type: &Type{Kind: Bool}})}}, Optional: true},
	&Member{Name: "open", Type: &Type{Kind: Object, Open: true, Members: []*Member{{Name: "a", Type: &Type{Kind: Integer}, Optional: true}}}, Optional: true},
)

func TestALenientServerAcceptsWhatClientsSend(t *testing.T) {
	v := lenientInputs.Compile()
	for raw, want := range map[string]string{
		// Values in strings, where the type has no string.
		`{"o":"{\"a\":1}"}`:                              `{"o":{"a":1}}`,
		`{ "o" : "  {\"a\": \"1\", \"t\": \"2\"} " }`:    `{ "o" : {"a": 1, "t": "2"} }`,
		`{"o":{"a":"7","t":"7"}}`:                        `{"o":{"a":7,"t":"7"}}`,
		`{"texts":"[\"1\",\"{}\"]","i":"5","n":"-1e3"}`:  `{"texts":["1","{}"],"i":5,"n":-1e3}`,
		`{"texts":["1","[2]"]}`:                          `{"texts":["1","[2]"]}`,
		`{"numbers":["1",2,"[3]","\u0034"]}`:             `{"numbers":[1,2,"[3]",4]}`,
		`{"map":{"x":"1","y":{}}}`:                       `{"map":{"x":1,"y":{}}}`,
		`{"b":"true"}`:                                   `{"b":true}`,
		`{"null_i":"null","i":"null"}`:                   `{"null_i":null,"i":null}`,
		`{"n_or_o":"{\"a\":\"false\"}"}`:                 `{"n_or_o":{"a":false}}`,
		`{"n_or_o":"5"}`:                                 `{"n_or_o":5}`,
		`{"open":"{\"a\":\"1\",\"b\":\"2\"}"}`:           `{"open":{"a":1,"b":"2"}}`,
		`{"toolCallId":"x","i":"5","_session":{"a":1}}`:  `{"i":5}`,
		`{ "i" : 1 , "toolCallId" : "x" , "b" : "true"}`: `{ "i" : 1 , "b" : true}`,
		`{"toolCallId":"x","_session":1}`:                `{}`,
		`{"o":{"toolCallId":"3"},"toolCallId":3}`:        `{"o":{"toolCallId":3}}`,
		`{"o":"{\"toolCallId\":3}"}`:                     `{"o":{"toolCallId":3}}`,
		// Everything else stays, and is reported.
		`{"s":"{\"a\":1}","n_or_s":"5","any":"[1]"}`: ``,
		`{"b":"True","i":"five","n":"","o":"[1]"}`:   ``,
		`{"i":"\"5\"","o":"{\"a\":1,\"a\":2}"}`:      ``,
		`{"o":"{\"a\":1","texts":"a, b"}`:            ``,
		`{"open":{"toolCallId":"x"},"other":"1"}`:    ``,
		`{"i":5,"texts":["a"]}`:                      ``,
		`{"i":`:                                      ``,
		`[]`:                                         ``,
	} {
		if want == "" {
			want = raw
		}
		got, err := v.Accept([]byte(raw), Lenience{true, []string{"toolCallId", "_session"}}, Unlimited)
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", raw, got, err, want)
		}
	}
	open := (&Type{Kind: Object, Open: true}).Compile()
	if got, _ := open.Accept([]byte(`{"toolCallId":"x"}`), Lenience{Ignore: []string{"toolCallId"}}, Unlimited); string(got) != `{"toolCallId":"x"}` {
		t.Errorf("an open input lost a member: %s", got)
	}
	for name, want := range map[string]bool{"toolCallId": true, "s": false, "i": false, "other": false} {
		if got := v.Ignores(name, Lenience{true, []string{"toolCallId", "s"}}); got != want {
			t.Errorf("the argument %s of a prompt is ignored: %v", name, got)
		}
	}
	declared := ObjectOf(&Member{Name: "toolCallId", Type: &Type{Kind: String}}).Compile()
	if got, _ := declared.Accept([]byte(`{"toolCallId":"x"}`), Lenience{Ignore: []string{"toolCallId"}}, Unlimited); string(got) != `{"toolCallId":"x"}` {
		t.Errorf("a declared input was dropped: %s", got)
	}
}

// Arguments that are valid are accepted as they are, and quoting any of their values that is no string changes nothing.
func TestQuotingAValueChangesNothing(t *testing.T) {
	v, random := lenientInputs.Compile(), rand.New(rand.NewPCG(1, 2))
	const valid = `{"s":"{}","n":1.5,"i":3,"b":false,"any":["1"],"null_i":null,"texts":["1","null"],"numbers":[1,2],"map":{"x":1},` +
		`"o":{"a":1,"t":"[1]"},"n_or_s":"1","n_or_o":{"a":true},"open":{"a":1,"z":"1"}}`
	var quote func(v any, in string) any
	quote = func(v any, in string) any {
		switch v := v.(type) {
		case string:
			return v
		case []any:
			for i := range v {
				v[i] = quote(v[i], in)
			}
		case map[string]any:
			for name := range v {
				if v[name] != nil && in+name != "any" && in+name != "openz" {
					v[name] = quote(v[name], in+name)
				}
			}
		}
		if in == "" || random.IntN(2) == 0 {
			return v
		}
		text, _ := json.Marshal(v)
		return string(text)
	}
	for range 300 {
		var given any
		if err := json.Unmarshal([]byte(valid), &given); err != nil {
			t.Fatal(err)
		}
		sent, _ := json.Marshal(quote(given, ""))
		got, err := v.Accept(sent, Lenience{Coerce: true}, Unlimited)
		a, _ := value.Decode(got)
		b, _ := value.Decode([]byte(valid))
		if err != nil || !value.Equal(a, b) {
			t.Fatalf("%s became %s, %v", sent, got, err)
		}
		if _, violations, err := v.Arguments(got, Unlimited); violations != nil || err != nil {
			t.Fatalf("%s: %v, %v", got, violations, err)
		}
		if again, _ := v.Accept(got, Lenience{Coerce: true}, Unlimited); string(again) != string(got) {
			t.Fatalf("%s became %s", got, again)
		}
	}
}

// noMemory is a budget without memory.
type noMemory struct{ unlimited }

var errNoBudget = errors.New("no memory")

func (noMemory) Reserve(int64) error { return errNoBudget }

func TestWhatIsCoercedIsReserved(t *testing.T) {
	v := lenientInputs.Compile()
	if _, err := v.Accept([]byte(`{"o":"{}"}`), Lenience{Coerce: true}, noMemory{}); err != errNoBudget {
		t.Errorf("got %v", err)
	}
	if _, err := v.Accept([]byte(`{"x":1}`), Lenience{Ignore: []string{"x"}}, noMemory{}); err != errNoBudget {
		t.Errorf("got %v", err)
	}
}

func TestAStringThatHoldsAValueIsExplained(t *testing.T) {
	v := lenientInputs.Compile()
	const advice = "; send it as JSON, without the quotes"
	for raw, advised := range map[string]bool{
		`{"o":"{\"a\":1}"}`: true, `{"texts":" [\"a\"]"}`: true, `{"numbers":"[]"}`: true, `{"map":"{}"}`: true,
		`{"i":"5"}`: true, `{"n":"1.5"}`: true, `{"b":"false"}`: true, `{"n_or_o":"{}"}`: true, `{"null_i":"null"}`: true,
		`{"o":"[1]"}`: false, `{"o":"{a: 1}"}`: false, `{"i":"five"}`: false, `{"b":"True"}`: false, `{"texts":"a"}`: false,
		`{"s":5}`: false, `{"i":"\"5\""}`: false, `{"o":{"a":true}}`: false,
	} {
		_, violations, _ := v.Arguments([]byte(raw), Unlimited)
		if len(violations) != 1 || strings.HasSuffix(violations[0].Message, advice) != advised {
			t.Errorf("%s: got %v", raw, violations)
		}
	}
	if _, violations, _ := v.Check(map[string]any{"o": "{}"}, Unlimited); strings.Contains(fmt.Sprint(violations), advice) {
		t.Errorf("what no caller has sent got %v", violations)
	}
	secret := *lenientInputs
	secret.Sensitive = true
	if _, violations, _ := secret.Compile().Arguments([]byte(`{"o":"{\"t\":\"hunter2\"}"}`), Unlimited); strings.Contains(fmt.Sprint(violations), "hunter2") {
		t.Errorf("a sensitive value is shown: %v", violations)
	}
}
