package hcl

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"hatchel/hcl/decode"
	"hatchel/hcl/eval/hclexpr"
)

// Fail ends the call as one that failed, in words for the model.
type Fail struct{ Message *hclexpr.TextTemplate }

func (f *Fail) spec() decode.Spec {
	return decode.Spec{decode.MessageAttr(&f.Message, "message", "What the model is told: what is wrong, and what to do.").Require()}
}

// Describe says that nothing is changed.
func (f *Fail) Describe(*Connection) (Effects, error) { return noEffects, nil }

// ProtocolFault ends the request with an error of the protocol.
type ProtocolFault struct {
	Code    int
	Message *hclexpr.TextTemplate
	Data    *hclexpr.Expr // nil for none
}

// Codes of JSON-RPC that a request itself may earn; the others of its range belong to the protocol.
const (
	invalidParams = -32602
	internalError = -32603

	minReservedCode = -32768
	maxReservedCode = -32000
)

func (f *ProtocolFault) spec() decode.Spec {
	return decode.Spec{
		decode.Custom("code", "integer", "The code of the error. Codes of your own are outside of -32768 to -32000.", f.decodeCode).DefaultDoc("-32602"),
		decode.MessageAttr(&f.Message, "message", "What is wrong with the request, in one sentence.").Require(),
		decode.Attr(&f.Data, "data", "A value that is sent beside the message."),
	}
}

func (f *ProtocolFault) decodeCode(d *decode.Decoder, e hclsyntax.Expression) {
	code, ok := d.Known(e, decode.Field{Name: "code"}, "integer").(int)
	if !ok {
		return
	}
	if code >= minReservedCode && code <= maxReservedCode && code != invalidParams && code != internalError {
		d.Errorf(e.Range(), "Reserved error code", "The codes from %d to %d belong to the protocol, which uses them for errors of its own. Write %d for a request that is wrong, %d for a server that failed, or a code of your own such as 1001.", minReservedCode, maxReservedCode, invalidParams, internalError)
		return
	}
	f.Code = code
}

// Describe says that nothing is changed.
func (f *ProtocolFault) Describe(*Connection) (Effects, error) { return noEffects, nil }
