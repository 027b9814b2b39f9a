package hcl

// Progress tells the client how far the call is.
type Progress struct {
	Done    *Expr // a number
	Total   *Expr // a number, nil when unknown
	Message *TextTemplate
}

func (p *Progress) spec() Spec {
	return Spec{
		NumberExpr(&p.Done, "done", "How much is done. It must grow from one to the next.").Require(),
		NumberExpr(&p.Total, "total", "How much there is to do, when that is known."),
		MessageAttr(&p.Message, "message", "What is being done, for a person to read."),
	}
}

// Describe says that nothing is changed.
func (p *Progress) Describe(*Connection) (Effects, error) { return noEffects, nil }
