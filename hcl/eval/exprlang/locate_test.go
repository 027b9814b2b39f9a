package exprlang

import (
	"testing"

	"hatchel/hcl/value"
)

func TestFailedPartIsLocatedWithItsValuesAndElement(t *testing.T) {
	v, err := value.Decode([]byte(`{"rows": [{"id": 1, "customer": {"price": 2}}, {"id": 2, "customer": null}, {"id": "x"}], "n": "many"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ claim, src, part, text string }{
		{
			"a member of null", `output.rows | map(.customer.price * 2)`, ".customer.price",
			"in .customer.price\n.customer is null\nelement 1 is {\"customer\":null,\"id\":2}",
		},
		{"an operator", `1 + output.n * 2`, "output.n * 2", "in output.n * 2\noutput.n is \"many\""},
		{
			"a function of a predicate", `sum(output.rows, .id)`, "sum(output.rows, .id)",
			"in sum(output.rows, .id)\n.id is \"x\"\nelement 2 is {\"id\":\"x\"}",
		},
		{"an argument of a function", `upper(output.rows)`, "upper(output.rows)", ""},
		{"a variable", `let x = output.rows[7]; x`, "output.rows[7]", ""},
	} {
		p, problems := Compile(c.src, openEnv(), WantAny)
		if p == nil {
			t.Fatal(problems)
		}
		f := frameOf(map[string]any{"output": v})
		if _, err := p.Run(f, f.Output); err == nil {
			t.Fatalf("%s: %s does not fail", c.claim, c.src)
		}
		got := p.Locate(f, f.Output)
		if got == nil || c.src[got.Offset:got.Offset+got.Length] != c.part || c.text != "" && got.Text != c.text {
			t.Errorf("%s: %s: got %+v", c.claim, c.src, got)
		}
	}
}

func TestProgramThatDoesNotFailAgainHasNoFailedPart(t *testing.T) {
	p, _ := Compile(`output + 1`, openEnv(), WantAny)
	if got := p.Locate(frameOf(map[string]any{"output": 1}), 1); got != nil {
		t.Errorf("got %+v", got)
	}
}
