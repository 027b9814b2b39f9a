package hcl

// Progress tells the client how far the call is.
type Progress struct {
	Done    *Expr // a number
	Total   *Expr // a number, nil when unknown
	Message *Message
}

func (p *Progress) spec() Spec {
	return Spec{
		numeric(&p.Done, "done", "How much is done. It must grow from one to the next.").Require(),
		numeric(&p.Total, "total", "How much there is to do, when that is known."),
		said(&p.Message, "message", "What is being done, for a person to read."),
	}
}

// Describe says that nothing is changed.
func (p *Progress) Describe(*Connection) (Facts, error) { return silent, nil }
