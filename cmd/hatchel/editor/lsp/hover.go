package lsp

type hoverResult struct {
	Contents MarkupContent `json:"contents"`
	Range    Range         `json:"range"`
}

// hover answers textDocument/hover.
func hover(v *view, p *positionParams) (*hoverResult, *responseError) {
	h := v.project.Hover(v.file, v.offset(p.Position))
	if h == nil {
		return nil, nil
	}
	return &hoverResult{markdown(h.Text), v.span(h.Span)}, nil
}
