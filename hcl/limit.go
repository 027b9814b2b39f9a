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

// Limit says how often, and how many at once, calls may be.
type Limit struct {
	Rate        Rate // the zero Rate is none
	Burst       int  // how many may come at once before the rate counts
	Shared      bool // all callers share the limit; otherwise each has it
	Concurrency int  // how many may run at once; 0 for any number
	Queue       int  // how many may wait for their turn
	MaxWait     time.Duration
}

// Rate is a number of calls in a time.
type Rate struct {
	Calls int
	Per   time.Duration
}

// String writes the rate for a reader.
func (r Rate) String() string {
	for _, u := range rateUnits {
		if u.per == r.Per {
			return fmt.Sprintf("%d a %s", r.Calls, u.word)
		}
	}
	return fmt.Sprintf("%d in %v", r.Calls, r.Per)
}

// Every is the time from one call to the next.
func (r Rate) Every() time.Duration { return r.Per / time.Duration(r.Calls) }

var rateUnits = []struct {
	suffix, word string
	per          time.Duration
}{{"s", "second", time.Second}, {"m", "minute", time.Minute}, {"h", "hour", time.Hour}, {"d", "day", 24 * time.Hour}}

const (
	maxRate        = 1_000_000
	defaultMaxWait = 10 * time.Second
)

func (l *Limit) spec(per string) decode.Spec {
	l.MaxWait, l.Shared = defaultMaxWait, per == "tool"
	return decode.Spec{
		decode.Custom("rate", "rate", "How many calls in which time, as in \"10/m\": a second is s, a minute m, an hour h and a day d. All processes that share the state count them together.", l.decodeRate),
		decode.PositiveInt(&l.Burst, "burst", "How many calls may come at once before the rate counts.").DefaultDoc("the calls of the rate"),
		decode.BoolChoice(&l.Shared, "per", `"caller" counts the calls of every caller apart, "tool" those of all callers together.`, "caller", "tool").DefaultDoc(strconv.Quote(per)),
		decode.PositiveInt(&l.Concurrency, "concurrency", "How many calls may run at once in one process."),
		decode.PositiveInt(&l.Queue, "queue", "How many calls wait for their turn; those beyond are refused. Without it none waits."),
		decode.PositiveDuration(&l.MaxWait, "max_wait", "How long a call waits for its turn.").DefaultDoc("10s").RenamedFrom("wait"),
	}
}

// limitField declares a limit.
func limitField(dst **Limit, doc string) decode.Field {
	return decode.Field{Name: "limit", Doc: doc, NestedSpec: func() decode.Spec { return new(Limit).spec("caller") }, DecodeBlock: func(d *decode.Decoder, b *hclsyntax.Block) {
		l := new(Limit)
		before := len(d.Diags)
		d.Body(b.Body, l.spec("caller"), b.DefRange())
		if len(d.Diags) == before {
			l.check(d, b)
		}
		*dst = l
	}}
}

// check reports what says nothing, and fills in the burst.
func (l *Limit) check(d *decode.Decoder, b *hclsyntax.Block) {
	written := func(name string) bool { return b.Body.Attributes[name] != nil }
	switch {
	case l.Rate.Calls == 0 && l.Concurrency == 0:
		d.Errorf(b.DefRange(), "Limit of nothing", "A limit says how often or how many at once: write rate = \"10/m\" or concurrency = 4.")
	case l.Burst > 0 && l.Rate.Calls == 0:
		d.Errorf(b.Body.Attributes["burst"].NameRange, "Does not apply here", "burst belongs to a rate, and there is none.")
	case written("max_wait") && l.Queue == 0:
		d.Errorf(b.Body.Attributes["max_wait"].NameRange, "Does not apply here", "No call waits without a queue: write queue = 20, too.")
	case l.Burst == 0:
		l.Burst = l.Rate.Calls
	}
}

func (l *Limit) decodeRate(d *decode.Decoder, e hclsyntax.Expression) {
	n := d.CompileKnown(e, decode.Field{Name: "rate"})
	if !n.Known {
		return
	}
	text, ok := n.Value.(string)
	if !ok {
		d.Errorf(e.Range(), "Invalid rate", `A rate is a number of calls and a time in quotes, as in "5/s", "10/m", "100/h" or "1000/d", and this is %s.`, eval.TypePhrase(eval.TypeOf(n.Value)))
		return
	}
	count, unit, _ := strings.Cut(text, "/")
	calls, err := strconv.Atoi(strings.TrimSpace(count))
	for _, u := range rateUnits {
		if strings.TrimSpace(unit) == u.suffix && err == nil && calls > 0 && calls <= maxRate {
			l.Rate = Rate{calls, u.per}
			return
		}
	}
	d.Errorf(e.Range(), "Invalid rate", `A rate is a number of calls and a time, as in "5/s", "10/m", "100/h" or "1000/d", and this is %q.`, text)
}
