package hcl

import (
	"time"

	"hatchel/hcl/decode"
	"hatchel/hcl/schema"
)

// Idempotency is the idempotency block: calls with the same key are executed once.
type Idempotency struct {
	TTL time.Duration // of a key and its result
}

// KeyInput is the input that holds the key of a call.
const KeyInput = "idempotency_key"

func (i *Idempotency) spec() decode.Spec {
	i.TTL = 24 * time.Hour
	return decode.Spec{decode.PositiveDuration(&i.TTL, "ttl",
		"How long a key and its result are kept.").DefaultDoc("24h")}
}

// idempotencyField declares the idempotency block.
func (t *toolDecoder) idempotencyField() decode.Field {
	return decode.Block(&t.tool.Idempotency, "idempotency", "Adds the input idempotency_key: calls with the same key "+
		"and arguments are executed once and return the same result.", (*Idempotency).spec)
}

// addKeyInput adds the input that holds the key.
func (t *toolDecoder) addKeyInput() {
	if t.tool.Idempotency == nil {
		return
	}
	in, d := t.inputs, t.dec
	if in.verbatim != nil {
		if m, ok := in.verbatim.Lookup(KeyInput); !ok || !m.Optional || m.Type.Kind != schema.String {
			d.Errorf(in.verbatimExpr.Range(), "No place for the key",
				"schema replaces the input schema, and idempotency needs an optional string property %q in it.",
				KeyInput)
		}
		return
	}
	if taken, ok := in.labelRanges[KeyInput]; ok {
		d.Diags.Errorf(taken, "Input name reserved", "The block idempotency adds the input %q. Remove this one.",
			KeyInput)
		return
	}
	least, most := 1, 255
	printable, _ := schema.NewPattern("^[!-~]+$")
	block := decode.FindBlock(t.block.Body, "idempotency")
	in.members = append(in.members, &schema.Member{Name: KeyInput, Optional: true, Range: block.DefRange(),
		Type: &schema.Type{
			Kind: schema.String, MinLength: &least, MaxLength: &most, Pattern: printable,
			Description: "A unique string for this operation, such as a UUID. Calls with the same key are " +
				"executed once: to retry after a lost response, send the same key and the same arguments.",
		}})
}

// checkKeyUseful reports an idempotency block in a read-only tool.
func (t *toolDecoder) checkKeyUseful() {
	if t.tool.Idempotency != nil && t.tool.ReadOnly && !t.dec.Diags.HasErrors() {
		t.dec.Diags.Warnf(t.blockRange("idempotency"), "Nothing to repeat", "The tool is read-only, so "+
			"repeated calls are harmless and a key has no effect. Remove idempotency, or use cache.")
	}
}
