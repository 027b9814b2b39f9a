package hcl

import (
	"hatchel/hcl/decode"
	"time"
)

// ConnectionLimits is what every connection may say of how much it is used.
type ConnectionLimits struct {
	Concurrency int // calls that may be under way at once; 0 for any number
	Breaker     *Breaker
}

// Breaker says when a connection that fails is left alone for a while.
type Breaker struct {
	Failures int           // in a row
	Window   time.Duration // within which they come
	Cooldown time.Duration // for which nothing is sent then
}

const (
	defaultFailures = 5
	defaultWindow   = 30 * time.Second
	defaultCooldown = 30 * time.Second
)

func (g *ConnectionLimits) spec() decode.Spec {
	return decode.Spec{
		decode.PositiveInt(&g.Concurrency, "concurrency", "How many blocks may use the connection at once, of all tools; the others wait while their calls have time. Without it any number."),
		decode.Block(&g.Breaker, "breaker", "Leaves the other side alone for a while when it fails again and again: what needs it is refused at once, and then one call tries.", (*Breaker).spec),
	}
}

func (b *Breaker) spec() decode.Spec {
	b.Failures, b.Window, b.Cooldown = defaultFailures, defaultWindow, defaultCooldown
	const none = "A breaker needs time. Write how much, as in \"30s\"."
	return decode.Spec{
		decode.PositiveInt(&b.Failures, "failures", "How many calls in a row must fail: no answer, none in time, or one that says that the other side is out of order. An answer that refuses a call is none of them.").DefaultDoc("5"),
		decode.PositiveDuration(&b.Window, "window", "The time within which they fail.", none).DefaultDoc("30s"),
		decode.PositiveDuration(&b.Cooldown, "cooldown", "How long nothing is sent. Then one call tries, and what becomes of it decides.", none).DefaultDoc("30s"),
	}
}
