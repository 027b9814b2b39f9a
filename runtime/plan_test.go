package runtime

import "testing"

// The plan of a step with each reads the elements, as the step itself does.
func TestPlanOfEachNamesEveryElement(t *testing.T) {
	h := newHost(t, `tool "t" {
		description = "A tool."
		input "xs" { type = list(integer) }
		step "s" {
		  each = input.xs
		  fake { value = each.value + 1 }
		}
		text = "done"
	}`)
	p, _ := h.Current().Program("t")
	for _, c := range []struct{ name, arguments, want string }{
		{"of two", `{"xs":[1,2]}`, "step \"s\":\n(once for each element, 2 in all)\nwould answer 2\nwould answer 3\n"},
		{"of none", `{"xs":[]}`, "step \"s\":\n(once for each element, 0 in all)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if plan, err := p.Plan(t.Context(), nil, []byte(c.arguments)); err != nil || plan != c.want {
				t.Errorf("got %q, %v\nwant %q", plan, err, c.want)
			}
		})
	}
}
