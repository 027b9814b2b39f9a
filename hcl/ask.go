package hcl

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// AskGroup is the ask blocks of one step, which are sent to the client together. Its output is an
// object of the answers by key. The step may have a When, a Continue and Expects, but neither Each
// nor Repeat.
type AskGroup struct{ Asks []*Ask }

// Ask is one question to the client. One of Elicit, Sample and Roots is set.
type Ask struct {
	Key      string        // unique among all questions of a tool, a prompt or a resource
	When     *Condition    // if false, the question is skipped and its answer is null
	Timeout  time.Duration // for the client to answer
	Fallback *Expr         // the answer for a client that cannot be asked; nil rejects its calls
	Elicit   *Elicit
	Sample   *Sample
	Roots    *Roots
	Range    Range

	fallback *schema.Validator
}

// Roots asks for the folders that the user has opened.
type Roots struct{}

// UpstreamAsks reports whether a key is that of a question that an MCP server may ask the client during the operation:
// the name of its connection and a number. A step that runs several times asks nothing.
func (w *Operation) UpstreamAsks(key string) bool {
	connection, number, _ := strings.Cut(key, ".")
	n, err := strconv.Atoi(number)
	return err == nil && n > 0 && slices.ContainsFunc(w.Steps, func(s *Step) bool {
		return s.Backend.Effects.Upstream == connection && s.Each == nil && s.Repeat == nil
	})
}

// Asks reports whether a step of the operation asks the client.
func (w *Operation) Asks() bool {
	return slices.ContainsFunc(w.Steps, func(s *Step) bool { return s.Backend.Kind == "ask" })
}

func (a *Ask) spec() decode.Spec {
	a.Timeout = 5 * time.Minute
	return decode.Join(
		decode.Spec{decode.Guard(&a.When, "when",
			"The question is skipped when this is false; its answer is then null.")},
		decode.ExactlyOneOf("the question",
			decode.Block(&a.Elicit, "elicit",
				"Asks the user to fill in a form or to open a page. Returns action and content.", (*Elicit).spec),
			decode.Block(&a.Sample, "sample",
				"Asks the model of the client. Returns text, model, stop_reason, role and content.", (*Sample).spec),
			decode.Block(&a.Roots, "roots",
				"Asks for the folders that the user has opened. Returns roots, a list of uri and name.",
				func(*Roots) decode.Spec { return nil })),
		decode.Spec{
			decode.PositiveDuration(&a.Timeout, "timeout", "The time for the client to answer. The timeouts of the "+
				"step and the tool are paused meanwhile.").DefaultDoc("5m"),
			decode.Attr(&a.Fallback, "fallback", "The answer for clients that cannot be asked: the fields of the "+
				"form, the text of the model, or the list of roots. Without a fallback their calls are rejected."),
		},
	)
}

// decodeAskGroup decodes the ask blocks of a step.
func (w *operationDecoder) decodeAskGroup(step *hclsyntax.Block, asks []*hclsyntax.Block) *Backend {
	r := &AskGroup{}
	var answers []*schema.Member
	for _, b := range asks {
		a := w.decodeAsk(b)
		if a == nil {
			continue
		}
		r.Asks = append(r.Asks, a)
		t := a.outputType()
		if a.When != nil {
			t = t.AsNullable()
		}
		answers = append(answers, &schema.Member{Name: a.Key, Type: t})
	}
	return &Backend{Kind: "ask", Config: r, Effects: Effects{Output: schema.ObjectOf(answers...), ReadOnly: true,
		Idempotent: true}, Range: headerRange(step)}
}

// decodeAsk decodes one ask block; nil when it has no key.
func (w *operationDecoder) decodeAsk(b *hclsyntax.Block) *Ask {
	d := w.dec
	if len(b.Labels) != 1 {
		d.Errorf(b.TypeRange, "Wrong number of labels", "An ask block is written `ask \"name\" {`.")
		return nil
	}
	a := &Ask{Key: b.Labels[0], Range: headerRange(b)}
	w.checkAskKey(a, b)
	d.Body(b, a.spec())
	if a.Fallback != nil {
		a.checkFallback(d)
	}
	return a
}

// checkAskKey checks the name of an answer.
func (w *operationDecoder) checkAskKey(a *Ask, b *hclsyntax.Block) {
	d, r := w.dec, labelRange(b)
	first, twice := w.askKeys[a.Key]
	checkIdentifier(&d.Diags, "question", a.Key, r)
	switch {
	case a.Key == "error":
		d.Diags.Errorf(r, "Invalid name",
			"error is the name of a failed step's error, so it cannot name an answer. Choose another name.")
	case twice:
		d.Diags.Errorf(r, "Duplicate question",
			"There is already a question %q in line %d. Names of questions must be unique within one %s.", a.Key,
			first.Start.Line, w.noun)
		d.Diags.Relate(first)
	default:
		if w.askKeys == nil {
			w.askKeys = map[string]Range{}
		}
		w.askKeys[a.Key] = r
	}
}

// checkFallback checks the fallback against the type of the answer.
func (a *Ask) checkFallback(d *decode.Decoder) {
	want, n, r := a.fallbackType(), a.Fallback.Typed, a.Fallback.Range
	if want == nil {
		return // the mistake in the question was reported
	}
	a.fallback = want.Compile()
	const noAnswer = "The fallback does not answer this question: %s. It must be %s."
	if n.NullReason != "" {
		d.Diags.Errorf(r, "Value may be null",
			"%s, and a fallback must not be null. To skip the question, give the ask a `when`.", eval.NullSentence(n))
		return
	}
	if n.Known {
		if _, violations, _ := a.fallback.Check(n.Value, schema.Unlimited); len(violations) > 0 {
			d.Diags.Errorf(r, "Wrong type", noAnswer, violations[0], a.fallbackPhrase())
		}
		return
	}
	if why := schema.Mismatch(n.Type, want); why != "" {
		d.Diags.Errorf(r, "Wrong type", noAnswer, why, a.fallbackPhrase())
	}
}
