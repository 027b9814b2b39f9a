package testblock

import (
	"slices"

	"hatchel/hcl"
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/internal/toolsearch"
)

// search is a search_test block being decoded.
type search struct {
	cfg *hcl.Config
	src hcl.TestBlock
	d   *decode.Decoder

	toolset   string
	toolsetAt diag.Range
	finds     []Found
	skip      string
	caller    *arguments
}

func newSearch(cfg *hcl.Config, src hcl.TestBlock) *search { return &search{cfg: cfg, src: src} }

func (s *search) spec() decode.Spec {
	var names []string
	return decode.Join(
		decode.Spec{
			decode.Attr(&s.toolset, "toolset", "The toolset whose tools are searched. It has a search block.").
				Require().Check(func(d *decode.Decoder, r diag.Range) {
				s.toolsetAt = r
				d.NoteReference(eval.Reference{At: r, Kind: "toolset", Name: s.toolset})
			}),
			decode.StringSet(&names, "finds", "list of names", "The names of the tools that the search has to find.",
				func(d *decode.Decoder, r diag.Range, name string) string {
					d.NoteReference(eval.Reference{At: r, Kind: "tool", Name: name})
					if !slices.Contains(names, name) {
						s.finds = append(s.finds, Found{name, r})
					}
					return name
				}).Require(),
		},
		setSpec(&s.skip),
		decode.Spec{callerField(&s.caller, "Who searches: only tools that the caller may see are found.")},
	)
}

// decode decodes the block, and returns its test.
func (s *search) decode() []*Test {
	s.d = s.cfg.NewTestDecoder(s.src)
	s.d.Body(s.src.Block, s.spec())
	if err := toolsearch.Check(s.src.Labels[0]); err != nil {
		s.d.Errorf(s.src.LabelRanges[0], "Invalid question", "The search takes no such question: %s.", err)
	}
	if s.toolset != "" && !s.cfg.Partial {
		s.check()
	}
	if s.d.Diags.HasErrors() || s.d.MissingValue {
		return nil
	}
	t := &Test{Name: s.src.Labels[0], Kind: "search", Target: s.toolset, Finds: s.finds, Skip: s.skip,
		Timeout: defaultTimeout, Range: diag.RangeOf(s.src.DefRange())}
	t.Vars, t.Secrets = Set(s.src)
	if s.caller != nil {
		frame := eval.NewLoadFrame(s.d.Env.Dir, s.d.Env.Now)
		t.Caller = s.caller.values(&element{diags: &s.d.Diags, frame: frame})
	}
	return []*Test{t}
}

// check reports a toolset without search, and tools that its search does not find whatever the question is.
func (s *search) check() {
	var toolset *hcl.Toolset
	var names []string
	for _, t := range s.cfg.Toolsets {
		if t.Search != nil {
			names = append(names, t.Name)
		}
		if t.Name == s.toolset {
			toolset = t
		}
	}
	finds := s.src.Body.Attributes["finds"]
	switch {
	case toolset == nil:
		s.d.Diags.Errorf(s.toolsetAt, "Unknown toolset", "There is no toolset %q.%s", s.toolset,
			diag.SuggestOr(s.toolset, names, diag.ListAre(names)))
	case toolset.Search == nil:
		s.d.Diags.Errorf(s.toolsetAt, "Toolset without search", "The toolset %q lists its tools, and has no search "+
			"block with which they are found.", s.toolset)
	case finds == nil || len(s.finds) == 0 && s.d.Diags.HasErrors(): // which was reported
	case len(s.finds) == 0:
		s.d.Errorf(finds.Expr.Range(), "Nothing expected", "finds has the tools that the search has to find: "+
			"finds = [\"get_order\"].")
	case len(s.finds) > toolset.Search.Results:
		s.d.Errorf(finds.Expr.Range(), "Too many tools",
			"finds has %d tools, and the search of the toolset %q finds %d.",
			len(s.finds), s.toolset, toolset.Search.Results)
	default:
		for _, f := range s.finds {
			s.checkTool(toolset, f)
		}
	}
}

func (s *search) checkTool(toolset *hcl.Toolset, f Found) {
	var names []string
	for _, t := range s.cfg.Tools {
		if toolset.HasTool(t.Name) {
			names = append(names, t.Name)
		}
		switch {
		case t.Name != f.Name:
			continue
		case !toolset.HasTool(t.Name):
			s.d.Diags.Errorf(f.Range, "Tool of another toolset", "The toolset %q does not have the tool %q.", s.toolset,
				f.Name)
		case !t.Listed:
			s.d.Diags.Errorf(f.Range, "Tool not listed", "%q has listed = false, so no search finds it.", f.Name)
		case hcl.HasHeaderInputs(t.Input):
			s.d.Diags.Errorf(f.Range, "Tool not found by search", "%q has inputs that clients repeat in headers, so "+
				"no search finds it.", f.Name)
		}
		return
	}
	s.d.Diags.Errorf(f.Range, "Unknown tool", "There is no tool %q.%s", f.Name,
		diag.SuggestOr(f.Name, names, diag.ListAre(names)))
}
