package hcl

import (
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
)

// Round is the ask blocks of one step: the client is asked all of it at once. Its output is an object of the answers by key. The step may have a When, a
// Continue and Expects, and has neither Each nor Repeat.
type Round struct{ Asks []*Ask }

// Ask is one question to the client. One of Elicit, Sample and Roots is set.
type Ask struct {
	Key      string        // unique among all questions of a tool, a prompt or a resource
	When     *Condition    // when it is false nobody is asked, and the answer is null
	Timeout  time.Duration // that the client has to answer
	Fallback *Expr         // what Instead answers where the client cannot be asked; nil refuses the call there
	Elicit   *Elicit
	Sample   *Sample
	Roots    *Roots
	Range    Range

	fallback *schema.Validator
}

// Roots asks which folders the user has opened.
type Roots struct{}

// Asks reports whether a step of the work asks the client.
func (w *Work) Asks() bool {
	return slices.ContainsFunc(w.Steps, func(s *Step) bool { return s.Backend.Kind == "ask" })
}

const defaultPatience = 5 * time.Minute

func (a *Ask) guardSpec() Spec {
	return Spec{Attr(&a.When, "when", "Nobody is asked when this is false, and the answer is null.")}
}

func (a *Ask) questionSpec() Spec {
	a.Timeout = defaultPatience
	return Join(
		Exactly("the question",
			Block(&a.Elicit, "elicit", "Asks the user to fill in a form, or to open a page. Gives action and content.", (*Elicit).spec),
			Block(&a.Sample, "sample", "Asks the model of the client. Gives text, model, stop_reason, role and content.", (*Sample).spec),
			Block(&a.Roots, "roots", "Asks which folders the user has opened. Gives roots, a list of uri and name.", func(*Roots) Spec { return nil })),
		Spec{
			lasting(&a.Timeout, "timeout", "How long the client has to answer. The time does not count for the timeout around.", "Nobody answers in no time. Write how long the client has, as in \"2m\".").Or("5m"),
			Attr(&a.Fallback, "fallback", "The answer where the client cannot be asked: the fields of the form, the text of the model, or the list of roots. Without it the call is refused there."),
		},
	)
}

func askSpec(a *Ask) Spec { return Join(a.guardSpec(), a.questionSpec()) }

// round decodes the ask blocks of a step.
func (w *workDecl) round(step *hclsyntax.Block, asks []*hclsyntax.Block) *Backend {
	r := &Round{}
	var answers []*schema.Member
	for _, b := range asks {
		a := w.ask(b)
		if a == nil {
			continue
		}
		r.Asks = append(r.Asks, a)
		t := a.output()
		if a.When != nil {
			t = t.AsNullable()
		}
		answers = append(answers, &schema.Member{Name: a.Key, Type: t})
	}
	return &Backend{Kind: "ask", Config: r, Facts: Facts{Output: schema.ObjectOf(answers...), ReadOnly: true, Idempotent: true}, Range: at(step.DefRange())}
}

// ask decodes one ask block; nil when it has no key.
func (w *workDecl) ask(b *hclsyntax.Block) *Ask {
	d := w.dec
	if len(b.Labels) != 1 {
		d.errorf(b.TypeRange, "Wrong number of labels", "An ask block is written `ask \"name\" {`.")
		return nil
	}
	a := &Ask{Key: b.Labels[0], Range: at(b.DefRange())}
	w.key(a, b)
	spec, known := askSpec(a), d.facts
	d.unknown(b.Body, spec)
	d.fields(b.Body, spec[:1], b.DefRange())
	d.facts = known.and(a.When)
	d.fields(b.Body, spec[1:], b.DefRange())
	d.facts = known
	if a.Fallback != nil {
		a.instead(d)
	}
	return a
}

// key checks what the answer will be called.
func (w *workDecl) key(a *Ask, b *hclsyntax.Block) {
	d, r := w.dec, b.LabelRanges[0]
	first, twice := w.asked[a.Key]
	switch {
	case !hclsyntax.ValidIdentifier(a.Key):
		d.diags = append(d.diags, invalidName("question", a.Key, r))
	case a.Key == "error":
		d.errorf(r, "Invalid name", "error is what a step leaves that failed, so no answer can have the name. Choose another.")
	case twice:
		d.errorf(r, "Duplicate question", "There is already a question %q in line %d: an answer finds its question by the name, which one %s has once.", a.Key, first.Start.Line, w.noun)
	default:
		if w.asked == nil {
			w.asked = map[string]Range{}
		}
		w.asked[a.Key] = at(r)
	}
}

// instead checks the fallback, which is the part of the answer that the client would have given.
func (a *Ask) instead(d *decoder) {
	want, n, r := a.wanted(), a.Fallback.node, a.Fallback.Range
	if want == nil {
		return // what is asked was reported
	}
	a.fallback = want.Compile()
	const noAnswer = "The fallback is no answer to this question: %s. It is %s."
	if n.null != "" {
		d.diags.errorf(r, "Value may be null", "%s, and a fallback is an answer. To go on without one give the ask a `when`.", reason(n))
		return
	}
	if n.known {
		if _, violations := a.fallback.Check(n.value); len(violations) > 0 {
			d.diags.errorf(r, "Wrong type", noAnswer, violations[0], a.sort())
		}
		return
	}
	if fits, why := schema.Compatible(n.typ, want); !fits {
		d.diags.errorf(r, "Wrong type", noAnswer, why, a.sort())
	}
}
