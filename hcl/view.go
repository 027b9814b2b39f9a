package hcl

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// View is the view block of a tool: how hosts of MCP Apps show its results. Members are those of a row of a table or a
// chart, and of the result of a record.
type View struct {
	Kind    string // "table", "chart", "record" or "form"; "approvals" of the built-in tool
	Title   string
	Columns []string      // the members that are shown, in order; empty for all
	Column  []*ViewColumn // what is said of single members
	Sort    string        // a member, with - before it for the reverse order; empty for the order of the result
	Filter  bool
	Open    string   // the tool that a row opens
	Draw    string   // of a chart: "line" or "bar"
	X       string   // of a chart
	Y       []string // of a chart
	Calls   string   // the tool that a form calls
	Submit  string   // the label of the button of a form

	Result *schema.Type // of the tool; nil for a form whose tool has no result of a known type
	Path   string       // the member of the result with the rows; empty for the result itself
	Row    *schema.Type // an object: of a row, or of the result of a record; nil for a form
	Range  Range

	ranges map[string]Range // of arguments, by name
}

// ViewColumn is the column block of a view.
type ViewColumn struct {
	Name  string
	Title string
	Link  bool
}

// viewKinds lists the arguments of each kind of view, besides title.
var viewKinds = map[string][]string{
	"table":  {"columns", "column", "sort", "filter", "open"},
	"chart":  {"column", "kind", "x", "y"},
	"record": {"columns", "column"},
	"form":   {"calls", "submit"},
}

const (
	maxViewColumns = 50
	maxViewSeries  = 8
)

func (v *View) spec() decode.Spec {
	v.Draw = "line"
	return decode.Spec{
		decode.Attr(&v.Title, "title", "The heading. By default the title or the name of the tool."),
		decode.Attr(&v.Columns, "columns", "The members that a table or a record shows, in order. By default all."),
		decode.Blocks("column", "member", "How a member is "+
			"shown.", func() decode.Spec { return new(ViewColumn).spec() },
			v.decodeColumn),
		decode.Attr(&v.Sort, "sort", "The member by which the rows of a table are sorted at first, with - before it "+
			"for the reverse order, as in \"-opened\"."),
		decode.Attr(&v.Filter, "filter", "Whether a table has a field that filters its rows.").DefaultDoc("false"),
		v.toolField(&v.Open, "open", "The tool that a row of a table opens: one that only reads, whose required "+
			"inputs are members of the row. Its result is shown below the row, in its own view if it has one."),
		decode.Choice(&v.Draw, "kind", "How a chart is drawn.", "line", "bar").DefaultDoc(`"line"`),
		decode.Attr(&v.X, "x", "The member of the horizontal axis of a chart. Dates and times make an axis of time."),
		decode.Attr(&v.Y, "y", "The members that a chart draws, at most 8 numbers."),
		v.toolField(&v.Calls, "calls", "The tool that a form calls. The form has its inputs; members of the result "+
			"of this tool are their first values."),
		decode.Attr(&v.Submit, "submit", "The label of the button of a form. By default the title or the name of "+
			"the tool that it calls."),
	}
}

func (c *ViewColumn) spec() decode.Spec {
	return decode.Spec{
		decode.Attr(&c.Title, "title", "The heading. By default the title of the type, or the name in words."),
		decode.Attr(&c.Link, "link", "Whether values that are https addresses are links, which the host opens after "+
			"it has asked its user.").DefaultDoc("false"),
	}
}

// toolField declares an argument that names a tool, which checkViews finds.
func (v *View) toolField(dst *string, name, doc string) decode.Field {
	return decode.Attr(dst, name, doc).TypeDoc("name of a tool").Check(func(d *decode.Decoder, r Range) {
		d.NoteReference(eval.Reference{At: r, Kind: "tool", Name: *dst})
	})
}

func (v *View) decodeColumn(d *decode.Decoder, b *hclsyntax.Block) {
	if len(b.Labels) != 1 {
		d.Errorf(b.TypeRange, "Wrong number of labels", "A column block is written `column \"member\" {`.")
		return
	}
	c := &ViewColumn{Name: b.Labels[0]}
	d.Body(b, c.spec())
	if v.ColumnOf(c.Name) != nil {
		d.Errorf(b.LabelRanges[0], "Duplicate column", "There is already a column %q in this view.", c.Name)
		return
	}
	v.ranges["column "+c.Name] = labelRange(b)
	v.Column = append(v.Column, c)
}

// ColumnOf returns what is said of a member; nil for nothing.
func (v *View) ColumnOf(member string) *ViewColumn {
	for _, c := range v.Column {
		if c.Name == member {
			return c
		}
	}
	return nil
}

// Shown returns the members that the view shows, in order.
func (v *View) Shown() []string {
	switch {
	case v.Kind == "chart":
		return append([]string{v.X}, v.Y...)
	case len(v.Columns) > 0 || v.Row == nil:
		return v.Columns
	}
	return v.Row.MemberNames()
}

// viewField declares the view block of a tool.
func (t *toolDecoder) viewField() decode.Field {
	return decode.Blocks("view", "kind", "How hosts of MCP Apps show the results, at most one. The label is table, "+
		"chart, record or form. Other hosts have the text of the result as "+
		"before.", func() decode.Spec { return new(View).spec() },
		t.decodeView)
}

func (t *toolDecoder) decodeView(d *decode.Decoder, b *hclsyntax.Block) {
	if len(b.Labels) != 1 {
		d.Errorf(b.TypeRange, "Wrong number of labels", "A view block is written `view \"table\" {`.")
		return
	}
	v := &View{Kind: b.Labels[0], Range: headerRange(b), ranges: map[string]Range{}}
	takes, ok := viewKinds[v.Kind]
	switch {
	case !ok:
		kinds := diag.SortedNames(viewKinds)
		d.Errorf(b.LabelRanges[0], "Unknown view", "There is no view %q.%s", v.Kind,
			diag.SuggestOr(v.Kind, kinds, diag.ListAre(kinds)))
		return
	case t.tool.View != nil:
		d.Errorf(b.DefRange(), "Two views", "A host shows the result of a tool in one way. Write one view.")
		return
	}
	before := len(d.Diags)
	d.Body(b, v.spec())
	for name, a := range b.Body.Attributes {
		v.ranges[name] = diag.RangeOf(a.Expr.Range())
	}
	for _, a := range sortedAttributes(b.Body.Attributes) {
		isKnown := func(f decode.Field) bool { return f.Name == a.Name }
		if slices.ContainsFunc(new(View).spec(), isKnown) && a.Name != "title" && !slices.Contains(takes, a.Name) {
			d.Errorf(a.NameRange, "Does not apply here", "view %q does not take %s.%s", v.Kind, a.Name,
				diag.ListNames(" It takes ", takes))
		}
	}
	t.tool.View = v
	if len(d.Diags) == before {
		t.checkView(d, b)
	}
}

// checkView checks a view against the type of the result.
func (t *toolDecoder) checkView(d *decode.Decoder, b *hclsyntax.Block) {
	v := t.tool.View
	needs := map[string][]string{"chart": {"x", "y"}, "form": {"calls"}}
	for _, name := range needs[v.Kind] {
		if b.Body.Attributes[name] == nil {
			d.Errorf(b.DefRange(), "Missing argument", "view %q needs %q.", v.Kind, name)
			return
		}
	}
	if v.Result = t.resultType(); v.Kind == "form" || d.MissingValue {
		return
	}
	if v.Path, v.Row = rowsOf(v.Result, v.Kind == "record"); v.Row == nil {
		const unknown = "A view shows members of the result, which must be known at load. Declare %s."
		_, listed := rowsOf(v.Result, false)
		switch {
		case v.Kind != "record":
			const list = "a list of objects, as in returns = list(object({ … }))"
			d.Errorf(b.DefRange(), "Result not known", unknown, list)
		case listed != nil:
			d.Errorf(b.DefRange(), "List in a record", "view \"record\" shows one object, and the result of this tool "+
				"is a list of objects. Write view \"table\", or result = \"…\" with one object.")
		default:
			d.Errorf(b.DefRange(), "Result not known", unknown, "an object, as in returns = object({ … })")
		}
		return
	}
	p := t.tool.Projection
	if p == nil || !v.isProjected() {
		p = nil
	} else {
		v.Row = offeredMembers(v.Row, p.Offer)
	}
	if v.checkMembers(d); p != nil {
		v.checkSent(d, p)
	}
}

// checkSent warns of members that the view names and that a call receives only if it chooses them. Where a view names
// no columns, it shows those that were sent.
func (v *View) checkSent(d *decode.Decoder, p *Projection) {
	for _, a := range []struct {
		name    string
		members []string
	}{{"columns", v.Columns}, {"sort", []string{strings.TrimPrefix(v.Sort, "-")}}, {"x", []string{v.X}}, {"y", v.Y}} {
		unsent := slices.DeleteFunc(slices.Clone(a.members), func(name string) bool {
			_, offered := v.Row.Lookup(name)
			return !offered || slices.Contains(p.Default, name)
		})
		if names := diag.JoinAnd(unsent); names != "" {
			d.Diags.Warnf(v.ranges[a.name], "Column not sent", "%s names %s, which a call without fields does not "+
				"receive. Add %s to default.", a.name, names, names)
		}
	}
}

// isProjected reports whether a projection applies to what the view shows: not to a record with a list of rows in it.
func (v *View) isProjected() bool {
	_, inner := rowsOf(v.Result, false)
	return v.Kind != "record" || inner == nil
}

// offeredMembers returns the type of a row without the members that no call can choose.
func offeredMembers(row *schema.Type, offer []string) *schema.Type {
	var members []*schema.Member
	for _, m := range row.Members {
		if slices.Contains(offer, m.Name) {
			members = append(members, m)
		}
	}
	return schema.ObjectOf(members...)
}

// resultType returns the type of the structured result; nil for none, and for one that is not known.
func (t *toolDecoder) resultType() *schema.Type {
	tool := t.tool
	if tool.Returns != nil || tool.Result != nil || len(tool.Steps) != 1 || tool.HasNamedSteps() ||
		t.has("text", "content") {
		return tool.Returns
	}
	effects := tool.Steps[0].Backend.Effects
	if effects.Output == nil || effects.Default.Content != "" {
		return nil
	}
	if m, ok := effects.Output.Lookup(effects.Default.Member); ok {
		return m.Type
	}
	var members []*schema.Member
	for _, name := range effects.Default.Members {
		if m, ok := effects.Output.Lookup(name); ok {
			members = append(members, m)
		}
	}
	return schema.ObjectOf(members...)
}

// rowsOf returns the type of a row of a result, and the member with the rows: the result is a list of objects, or an
// object with one list of objects. Of a record it is the result itself, an object. Row is nil for another type.
func rowsOf(result *schema.Type, record bool) (path string, row *schema.Type) {
	isObject := func(t *schema.Type) bool { return t.Kind == schema.Object && t.OneOf == nil && len(t.Members) > 0 }
	rows := func(t *schema.Type) *schema.Type {
		if t = t.Unfolded(); t.Kind == schema.List && isObject(t.Elem.Unfolded()) {
			return t.Elem.Unfolded()
		}
		return nil
	}
	if result == nil {
		return "", nil
	}
	result = result.Unfolded()
	switch {
	case record && isObject(result):
		return "", result
	case record:
		return "", nil
	case !isObject(result):
		return "", rows(result)
	}
	for _, m := range result.Members {
		if r := rows(m.Type); r != nil && row == nil {
			path, row = m.Name, r
		} else if r != nil {
			return "", nil
		}
	}
	return path, row
}

// checkMembers reports members that the result does not have, or that cannot be shown so.
func (v *View) checkMembers(d *decode.Decoder) {
	names := v.Row.MemberNames()
	find := func(argument, name string) *schema.Type {
		if m, ok := v.Row.Lookup(name); ok {
			return m.Type.Unfolded()
		}
		d.Diags.Errorf(v.ranges[argument], "Unknown column", "View column %q is not in the result.%s", name,
			diag.SuggestOr(name, names, diag.ListHas(names)))
		return nil
	}
	once := func(argument string, names []string) {
		for i, name := range names {
			if slices.Contains(names[:i], name) {
				d.Diags.Errorf(v.ranges[argument], "Duplicate column", "%s names %q twice.", argument, name)
			}
		}
	}
	once("columns", v.Columns)
	once("y", v.Y)
	for _, name := range v.Columns {
		find("columns", name)
	}
	for _, c := range v.Column {
		if t := find("column "+c.Name, c.Name); t != nil && c.Link && t.Kind != schema.String {
			d.Diags.Errorf(v.ranges["column "+c.Name], "Not an address", "%s is %s, and a link is a string.", c.Name,
				diag.WithArticle(t.String()))
		}
	}
	if v.Sort != "" {
		find("sort", strings.TrimPrefix(v.Sort, "-"))
	}
	if v.Kind == "chart" {
		find("x", v.X)
	}
	for _, name := range v.Y {
		if t := find("y", name); t != nil && t.Kind != schema.Number && t.Kind != schema.Integer {
			d.Diags.Errorf(v.ranges["y"], "Not a number", "%s is %s, and a chart draws numbers.", name,
				diag.WithArticle(t.String()))
		}
	}
	switch {
	case v.Kind == "chart" && (len(v.Y) == 0 || len(v.Y) > maxViewSeries):
		d.Diags.Errorf(v.ranges["y"], "Number out of range", "A chart draws 1 to %d members, not %d.", maxViewSeries,
			len(v.Y))
	case len(v.Shown()) > maxViewColumns:
		d.Diags.Errorf(v.Range, "Too many columns", "A view shows at most %d members, and there are %d. Name them "+
			"in columns.",
			maxViewColumns, len(v.Shown()))
	}
}

// checkViews checks the tools that views name, when all tools and toolsets are known.
func (l *loader) checkViews() {
	for _, name := range diag.SortedNames(l.tools) {
		t := l.tools[name].tool
		if v := t.View; v != nil && l.tools[name].enabled {
			l.checkViewTarget(t, "open", v.Open)
			l.checkViewTarget(t, "calls", v.Calls)
		}
	}
}

// checkViewTarget checks the tool that a view calls.
func (l *loader) checkViewTarget(t *Tool, argument, name string) {
	v, at := t.View, t.View.ranges[argument]
	target := l.tools[name]
	switch names := diag.SortedNames(l.tools); {
	case name == "":
		return
	case target == nil && !l.partial:
		l.diags.Errorf(at, "Unknown tool", "There is no tool "+
			"%q.%s", name, diag.SuggestOr(name, names, diag.ListAre(names)))
		return
	case target == nil:
		return
	case target.tool == t:
		l.diags.Errorf(at, "View calls its own tool", "view %q calls the tool whose result it shows. Name another "+
			"tool.",
			v.Kind)
		return
	case !target.tool.Listed:
		l.diags.Errorf(at, "Tool not listed", "A host calls %q as its user, so it must be listed.", name)
		return
	}
	for _, set := range l.config.Toolsets {
		if set.HasTool(t.Name) && !set.HasTool(name) {
			l.diags.Errorf(at, "Tool of another toolset", "view %q calls a tool of another toolset: the toolset %q "+
				"has %q and not %q.", v.Kind, set.Name, t.Name, name)
		}
	}
	if argument == "open" {
		l.checkOpenedTool(t, at, target.tool)
	} else {
		l.checkFormTool(v, at, target.tool)
	}
}

// checkOpenedTool checks the tool that rows of the view of a tool open.
func (l *loader) checkOpenedTool(t *Tool, at Range, target *Tool) {
	v := t.View
	if !target.ReadOnly {
		l.diags.Errorf(at, "Effect not allowed", "A row opens a tool that only reads, and %q may change something. "+
			"Use view \"form\" for a change.", target.Name)
	}
	if v.Row == nil {
		return // which was reported
	}
	for _, m := range target.Input.Members {
		if m.Optional {
			continue
		}
		member, ok := v.Row.Lookup(m.Name)
		if !ok {
			l.diags.Errorf(at, "Missing input", "The tool %q needs the input %q, which is no member of a row.%s",
				target.Name, m.Name, diag.ListHas(v.Row.MemberNames()))
			continue
		}
		if why := schema.Mismatch(member.Type, m.Type); why != "" {
			l.diags.Errorf(at, "Wrong type", "The input %q of the tool %q does not take the member of a row: %s.",
				m.Name, target.Name, why)
		}
		if p := t.Projection; p != nil && !slices.Contains(p.Default, m.Name) {
			l.diags.Warnf(at, "Column not sent", "The tool %q needs the input %q, which a call without fields does "+
				"not receive. Add %[2]s to default.", target.Name, m.Name)
		}
	}
}

// checkFormTool checks the tool that a form calls.
func (l *loader) checkFormTool(v *View, at Range, target *Tool) {
	for _, m := range target.Input.Members {
		if !m.Optional && m.Type.HoldsFile() {
			l.diags.Errorf(at, "File in a form", "The tool %q needs a file as its input %q, which a view cannot "+
				"upload.",
				target.Name, m.Name)
		}
	}
	if v.Result == nil || v.Result.Kind != schema.Object || v.Result.Open {
		return
	}
	for _, m := range v.Result.Members {
		if _, ok := target.Input.Lookup(m.Name); !ok {
			names := target.Input.MemberNames()
			l.diags.Errorf(v.Range, "Unknown input", "The result has the member %q, and the tool %q has no such "+
				"input.%s",
				m.Name, target.Name, diag.SuggestOr(m.Name, names, diag.ListHas(names)))
		}
	}
}
