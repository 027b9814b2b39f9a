package hcl

import (
	"hatchel/hcl/decode"
	"hatchel/hcl/eval/hclexpr"
)

// Progress tells the client how far the call is.
type Progress struct {
	Done    *hclexpr.Expr // a number
	Total   *hclexpr.Expr // a number, nil when unknown
	Message *hclexpr.TextTemplate
}

func (p *Progress) spec() decode.Spec {
	return decode.Spec{
		decode.NumberExpr(&p.Done, "done", "How much is done. It must grow from one to the next.").Require(),
		decode.NumberExpr(&p.Total, "total", "How much there is to do, when that is known."),
		decode.MessageAttr(&p.Message, "message", "What is being done, for a person to read."),
	}
}

// Describe says that nothing is changed.
func (p *Progress) Describe(*Connection) (Effects, error) { return noEffects, nil }
