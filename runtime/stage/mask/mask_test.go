package mask_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"strings"
	"testing"

	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/value"
	"hatchel/runtime/stage/mask"
)

// maskOf returns a mask of members.
func maskOf(name string, with eval.MaskWith, members ...string) hcl.AppliedMask {
	m := &hcl.Mask{Mask: &eval.Mask{Name: name, With: with}, Key: []byte("0123456789abcdef")}
	m.SetMembers(members)
	return hcl.AppliedMask{Mask: m}
}

// shown returns an output as a caller sees it, as JSON.
func shown(t *testing.T, b *hcl.Backend, lifted []*eval.Mask, output string) string {
	t.Helper()
	v, err := value.Decode([]byte(output))
	if err != nil {
		t.Fatal(err)
	}
	masked, err := mask.Output(b, &hcl.Frame{Lifted: lifted}, v)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := value.AppendJSON(nil, v); string(again) != compact(t, output) {
		t.Errorf("the output itself has changed to %s", again)
	}
	text, err := value.AppendJSON(nil, masked)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

func TestMembersAreMasked(t *testing.T) {
	for _, x := range []struct {
		name, output, want string
		masks              []hcl.AppliedMask
	}{
		{"a name at every depth", `{"rows":[{"email":"ada@example.com","id":1,"more":{"email":"b@c.de"}}]}`,
			`{"rows":[{"email":"(masked)","id":1,"more":{"email":"(masked)"}}]}`,
			[]hcl.AppliedMask{maskOf("m", eval.MaskHide, "email")}},
		{"not the members of the backend", `{"status":200,"body":{"status":"paid"}}`,
			`{"body":{"status":"(masked)"},"status":200}`, []hcl.AppliedMask{maskOf("m", eval.MaskHide, "status")}},
		{"the end of a path", `{"body":{"customer":{"address":{"street":"A 1","zip":1}},"address":{"street":"B 2"}}}`,
			`{"body":{"address":{"street":"B 2"},"customer":{"address":{"street":"(masked)","zip":null}}}}`,
			[]hcl.AppliedMask{maskOf("m", eval.MaskHide, "customer.address.*")}},
		{"parts of JSON", `{"stdout":"note: {\"email\":\"a\"}\nat \"email\" and {\"id\":1}\n","row":{"x":"{\"email\" : \"a\"},{\"id\":1}",` +
			`"y":"\"{\\\"EMAIL\\\":1","z":"{\"id\":1},{"}}`,
			`{"row":{"x":"(masked)","y":"(masked)","z":"{\"id\":1},{"},"stdout":"(masked)\nat \"email\" and {\"id\":1}\n"}`,
			[]hcl.AppliedMask{maskOf("m", eval.MaskHide, "email")}},
		{"hstore", `{"row":{"attrs":"\"city\"=>\"x\", \"email\"=>\"a\"","other":"\"city\"=>\"email\""}}`,
			`{"row":{"attrs":"(masked)","other":"\"city\"=>\"email\""}}`,
			[]hcl.AppliedMask{maskOf("m", eval.MaskHide, "email")}},
		{"lines of JSON", `{"stdout":"2 rows\n{\"email\":\"a\"}\r\n [{\"email\":\"b\"}]\n{\"id\":1}\n{email\n"}`,
			`{"stdout":"2 rows\n{\"email\":\"(masked)\"}\r\n[{\"email\":\"(masked)\"}]\n{\"id\":1}\n{email\n"}`,
			[]hcl.AppliedMask{maskOf("m", eval.MaskHide, "email")}},
		{"what is no text", `{"body":{"a":1,"b":true,"c":[1,"x"],"d":{"e":1},"f":null}}`,
			`{"body":{"a":null,"b":null,"c":[null,"(masked)"],"d":null,"f":null}}`,
			[]hcl.AppliedMask{maskOf("m", eval.MaskHide, "a", "b", "c", "d", "f")}},
		{"a part of a text", `{"body":{"a":"ada.l@example.com","b":"ab@example.com","c":"DE89 3704 0044 0532 0130 00",` +
			`"d":"+49 30 1234567","e":"Lovelace","f":"Ada","g":12345678,"h":"Ångström","i":"+49 30 123456ß€"}}`,
			`{"body":{"a":"a***@example.com","b":"***@example.com","c":"***0 00","d":"***4567","e":"***ce",` +
				`"f":"(masked)","g":null,"h":"***öm","i":"***56ß€"}}`,
			[]hcl.AppliedMask{maskOf("m", eval.MaskPartial, "?", "a", "b", "c", "d", "e", "f", "g", "h", "i")}},
		{"the strictest decides", `{"body":{"email":"ada@example.com"}}`, `{"body":{"email":"(masked)"}}`,
			[]hcl.AppliedMask{maskOf("a", eval.MaskPartial, "email"), maskOf("b", eval.MaskHide, "e*")}},
		{"a text that is JSON", `{"stdout":"{\"email\":\"ada@example.com\"}","code":0}`,
			`{"code":0,"stdout":"{\"email\":\"(masked)\"}"}`, []hcl.AppliedMask{maskOf("m", eval.MaskHide, "email")}},
		{"a text that two readers read differently", `{"stdout":"{\"a\":1,\"a\":\"ada@example.com\"}"}`,
			`{"stdout":"(masked)"}`, []hcl.AppliedMask{maskOf("m", eval.MaskHide, "email")}},
	} {
		if got := shown(t, &hcl.Backend{Masks: x.masks}, nil, x.output); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
}

func TestHashesAreTheSameForTheSameValueOfOneMask(t *testing.T) {
	const output = `{"body":{"id":7,"other":"7","next":8}}`
	hashed := func(name string) map[string]any {
		m := maskOf(name, eval.MaskHash, "id", "other", "next")
		var got struct{ Body map[string]any }
		text := shown(t, &hcl.Backend{Masks: []hcl.AppliedMask{m}}, nil, output)
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		return got.Body
	}
	a, b := hashed("a"), hashed("b")
	if a["id"] != a["other"] || a["id"] == a["next"] || a["id"] == b["id"] {
		t.Errorf("a has %v, b has %v", a, b)
	}
	if text, _ := a["id"].(string); len(text) != 18 || !strings.HasPrefix(text, "m_") {
		t.Errorf("the hash is %q", text)
	}
}

// The hash is HMAC-SHA-256 of the name of the mask, a zero byte and the value, whatever the length of the key.
func TestHashesAreThoseOfHMAC(t *testing.T) {
	for _, length := range []int{16, 64, 65, 200} {
		m := maskOf("m", eval.MaskHash, "id")
		m.Key = []byte(strings.Repeat("k", length))
		for _, text := range []string{"x", strings.Repeat("ä", 300), "y"} {
			sum := hmac.New(sha256.New, m.Key)
			sum.Write([]byte("m\x00" + text))
			hash := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum.Sum(nil)[:10])
			got := shown(t, &hcl.Backend{Masks: []hcl.AppliedMask{m}}, nil, `{"body":{"id":"`+text+`"}}`)
			if want := `{"body":{"id":"m_` + strings.ToLower(hash) + `"}}`; got != want {
				t.Errorf("key of %d bytes: %s, want %s", length, got, want)
			}
		}
	}
}

func TestALiftedMaskShowsTheValue(t *testing.T) {
	a, b := maskOf("a", eval.MaskHide, "email"), maskOf("b", eval.MaskPartial, "email")
	backend := &hcl.Backend{Masks: []hcl.AppliedMask{a, b}}
	const output = `{"rows":[{"email":"ada@example.com"}]}`
	for _, x := range []struct {
		lifted []*eval.Mask
		want   string
	}{
		{nil, `{"rows":[{"email":"(masked)"}]}`},
		{[]*eval.Mask{a.Mask.Mask}, `{"rows":[{"email":"a***@example.com"}]}`},
		{[]*eval.Mask{a.Mask.Mask, b.Mask.Mask}, output},
	} {
		if got := shown(t, backend, x.lifted, output); got != x.want {
			t.Errorf("%d masks lifted: %s, want %s", len(x.lifted), got, x.want)
		}
	}
}

// The text of which other members are made is masked with them.
func TestTheTextOfMaskedMembersIsMasked(t *testing.T) {
	b := &hcl.Backend{Masks: []hcl.AppliedMask{maskOf("m", eval.MaskHide, "email")},
		Effects: hcl.Effects{TextOf: map[string]string{"stdout": "rows"}}}
	got := shown(t, b, nil, `{"stdout":"email\nada@example.com\n","rows":[{"email":"ada@example.com"}],"code":0}`)
	if want := `{"code":0,"rows":[{"email":"(masked)"}],"stdout":"(masked)"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	got = shown(t, b, nil, `{"stdout":"id\n1\n","rows":[{"id":"1"}],"code":0}`)
	if want := `{"code":0,"rows":[{"id":"1"}],"stdout":"id\n1\n"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestMessagesOfBackendsAreMasked(t *testing.T) {
	b := &hcl.Backend{Masks: []hcl.AppliedMask{maskOf("m", eval.MaskHide, "email")}}
	for _, x := range []struct{ text, want string }{
		{"the service returned 500", "the service returned 500"},
		{`returned 500: {"email":"ada@example.com"} and more`, `returned 500: {"email":"(masked)"} and more`},
		{`returned 500: [{"id":1}] {"a":{"email":"x"}}`, `returned 500: [{"id":1}] {"a":{"email":"(masked)"}}`},
		{`returned 500: {"email":"ada@exam`, `returned 500: (masked)`},
		{"the tables {a} and [b] are locked", "the tables {a} and [b] are locked"},
	} {
		if got := mask.Message(b, new(hcl.Frame), x.text); got != x.want {
			t.Errorf("%s: %s, want %s", x.text, got, x.want)
		}
	}
}
