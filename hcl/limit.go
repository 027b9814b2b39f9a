package hcl

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/eval"
)

// Limit is one limit block: the rate and concurrency of calls.
type Limit struct {
	Rate        Rate // zero for none
	Burst       int  // calls that may arrive at once before the rate applies
	Shared      bool // all callers share the limit; otherwise it applies to each caller
	Concurrency int  // concurrent calls; 0 for unlimited
	Queue       int  // waiting calls
	MaxWait     time.Duration
}

// Rate is a number of calls per period.
type Rate struct {
	Calls int
	Per   time.Duration
}

// String formats the rate for people.
func (r Rate) String() string {
	for _, u := range rateUnits {
		if u.per == r.Per {
			return fmt.Sprintf("%d a %s", r.Calls, u.word)
		}
	}
	return fmt.Sprintf("%d in %v", r.Calls, r.Per)
}

// Every returns the average interval between two calls.
func (r Rate) Every() time.Duration { return r.Per / time.Duration(r.Calls) }

var rateUnits = []struct {
	suffix, word string
	per          time.Duration
}{{"s", "second", time.Second}, {"m", "minute", time.Minute}, {"h", "hour", time.Hour}, {"d", "day", 24 * time.Hour}}

const maxRate = 1_000_000

func (l *Limit) spec() decode.Spec {
	l.MaxWait = 10 * time.Second
	return decode.Spec{
		rateField(&l.Rate, "The maximum rate of calls"),
		decode.PositiveInt(&l.Burst, "burst",
			"The number of calls that may arrive at once before the rate applies.").DefaultDoc("the calls of the rate"),
		decode.BoolChoice(&l.Shared, "per", `"caller" limits each caller separately, or without auth each address; `+
			`"tool" limits all callers together.`,
			"caller", "tool").DefaultDoc(`"caller"`),
		decode.PositiveInt(&l.Concurrency, "concurrency", "The maximum number of concurrent calls in one process."),
		decode.PositiveInt(&l.Queue, "queue",
			"The maximum number of waiting calls; further calls are rejected. By default no call waits."),
		decode.PositiveDuration(&l.MaxWait, "max_wait",
			"The maximum time a call waits.").DefaultDoc("10s").RenamedFrom("wait"),
	}
}

// limitField declares a limit block.
func limitField(dst **Limit, doc string) decode.Field {
	return decode.Block(dst, "limit", doc, (*Limit).spec).CheckBlock(
		func(d *decode.Decoder, b *hclsyntax.Block) { (*dst).check(d, b) })
}

// check reports arguments without effect, and sets the default burst.
func (l *Limit) check(d *decode.Decoder, b *hclsyntax.Block) {
	written := func(name string) bool { return b.Body.Attributes[name] != nil }
	switch {
	case l.Rate.Calls == 0 && l.Concurrency == 0:
		d.Errorf(b.DefRange(), "Empty limit",
			"A limit needs a rate or a concurrency: write rate = \"10/m\" or concurrency = 4.")
	case l.Burst > 0 && l.Rate.Calls == 0:
		d.Errorf(b.Body.Attributes["burst"].NameRange, "Does not apply here", "burst needs a rate.")
	case written("max_wait") && l.Queue == 0:
		d.Errorf(b.Body.Attributes["max_wait"].NameRange, "Does not apply here",
			"Calls wait only in a queue: add queue = 20.")
	case l.Burst == 0:
		l.Burst = l.Rate.Calls
	}
}

// rateField declares the argument rate. Doc is the beginning of its documentation.
func rateField(dst *Rate, doc string) decode.Field {
	return decode.Custom("rate", "rate", doc+", as in \"10/m\", per second (s), minute (m), hour (h) or day (d). "+
		"Processes that share a state store count together.", dst.decode)
}

func (r *Rate) decode(d *decode.Decoder, e hclsyntax.Expression) {
	n := d.CompileKnown(e, decode.Field{Name: "rate"})
	if !n.Known {
		return
	}
	text, ok := n.Value.(string)
	got := strconv.Quote(text)
	if !ok {
		got = eval.ValuePhrase(n.Value)
	}
	count, unit, _ := strings.Cut(text, "/")
	calls, err := strconv.Atoi(strings.TrimSpace(count))
	for _, u := range rateUnits {
		if strings.TrimSpace(unit) == u.suffix && err == nil && calls > 0 && calls <= maxRate {
			*r = Rate{calls, u.per}
			return
		}
	}
	d.Errorf(e.Range(), "Invalid rate", `A rate is a number per unit of time in quotes, as in "5/s", "10/m", `+
		`"100/h" or "1000/d", not %s.`, got)
}
