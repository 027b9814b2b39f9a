package access

import (
	"slices"

	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/runtime/stage/policy"
)

// What a caller sees of what a mask masks. A mask whose rule reads the tool may have the answer Depends.
const (
	Shown   Answer = "shown"
	Partial Answer = "partial"
	Hash    Answer = "hash"
	Hidden  Answer = "hidden"
)

// seen is what callers see to whom a mask applies.
var seen = map[eval.MaskWith]Answer{eval.MaskPartial: Partial, eval.MaskHash: Hash, eval.MaskHide: Hidden}

// Masked returns what a caller sees to whom a mask applies.
func Masked(m *hcl.Mask) Answer { return seen[m.With] }

// Mask says what a caller sees of what a mask masks in the outputs of backends.
type Mask struct {
	Name    string   `json:"mask"`
	Members []string `json:"members"`
	Sees    Answer   `json:"sees"`
	// Rule decides; nil for a mask that nobody lifts.
	Rule  *policy.RuleState `json:"rule,omitempty"`
	Range hcl.Range         `json:"range"` // of the rule, or else of the mask
}

// Masks returns the masks of a target, and of the tools that its steps call, for a caller. One that tools lift apart
// is there for each of its answers.
func Masks(t Target, c Caller) (all []Mask) {
	for _, of := range withCalled(t, nil) {
		for _, m := range masksOf(of.op) {
			state := newMask(m, of, c)
			same := func(other Mask) bool { return other.Name == state.Name && other.Sees == state.Sees }
			if !slices.ContainsFunc(all, same) {
				all = append(all, state)
			}
		}
	}
	return all
}

// newMask evaluates the rule of a mask about a target.
func newMask(m *hcl.Mask, t Target, c Caller) Mask {
	out := Mask{Name: m.Name, Members: m.Members, Sees: seen[m.With], Range: m.Range}
	if m.Unless == nil {
		return out
	}
	e := c.newEvaluation()
	e.Frame.Tool = t.root
	state := policy.NewRule("mask."+m.Name+".unless", m.Unless).State(e)
	if out.Rule, out.Range = &state, state.Range; state.Says == "true" {
		out.Sees = Shown
	}
	return out
}

// withCalled appends a target, and the tools that its steps call.
func withCalled(t Target, all []Target) []Target {
	if slices.ContainsFunc(all, func(of Target) bool { return of.op == t.op }) {
		return all
	}
	all = append(all, t)
	for _, s := range t.op.Steps {
		if nested, ok := s.Backend.Config.(*hcl.ToolCall); ok && nested.Tool != nil {
			all = withCalled(ToolTarget(nested.Tool), all)
		}
	}
	return all
}

// masksOf returns the masks of the outputs of the backends of an operation.
func masksOf(op *hcl.Operation) (all []*hcl.Mask) {
	for _, s := range op.Steps {
		for _, m := range s.Backend.Masks {
			if !slices.Contains(all, m.Mask) {
				all = append(all, m.Mask)
			}
		}
	}
	return all
}

// MaskRows returns the rows of the masks of a configuration, by name.
func MaskRows(cfg *hcl.Config, callers []Caller) []Row {
	targets := toolTargets(cfg.Tools)
	for _, p := range cfg.Prompts {
		targets = append(targets, PromptTarget(p))
	}
	for _, r := range cfg.Resources {
		targets = append(targets, ResourceTarget(r))
	}
	rows := make([]Row, len(cfg.Masks))
	for i, m := range cfg.Masks {
		of := []Target{{kind: "tool", op: new(hcl.Operation)}}
		if m.Unless != nil && m.Unless.Reads("tool") {
			lacks := func(t Target) bool { return !slices.Contains(masksOf(t.op), m) }
			of = slices.DeleteFunc(slices.Clone(targets), lacks)
		}
		rows[i] = Row{m.Name, make(map[string]Answer, len(callers))}
		for _, c := range callers {
			rows[i].Answers[c.Name] = maskAnswer(m, of, c)
		}
	}
	return rows
}

// maskAnswer returns what a caller sees, whatever the target is. Of a mask without targets nothing is shown.
func maskAnswer(m *hcl.Mask, targets []Target, c Caller) Answer {
	answer := seen[m.With]
	for i, t := range targets {
		if sees := newMask(m, t, c).Sees; i == 0 {
			answer = sees
		} else if sees != answer {
			return Depends
		}
	}
	return answer
}

// maskConditions returns the rules of masks.
func maskConditions(cfg *hcl.Config) (all []*hcl.Condition) {
	for _, m := range cfg.Masks {
		if m.Unless != nil {
			all = append(all, m.Unless)
		}
	}
	return all
}
