package console

import (
	"html"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"sync"

	"hatchel/hcl"
	"hatchel/runtime/load/access"
)

const policiesPath = "/console/policies"

// policiesData is the data of the matrix of tools and callers.
type policiesData struct {
	Bar     *filterBar
	Columns []matrixColumn
	Rows    []matrixRow
	Masks   []maskMatrixRow // what the callers see of what masks mask
	pager                   // of the tools
	Callers pager
	Matrix  *access.Matrix // for what it says of its callers
	Default string         // what becomes of a call that no rule decides
}

// matrixColumn is one caller, or several API keys with the same answers.
type matrixColumn struct {
	Kind, Name string // such as "group" and "finance"; Kind is empty for the person who looks
	Key        string // the caller in addresses
}

// matrixRow is one tool.
type matrixRow struct {
	Name  string
	Does  condition
	Path  string        // of the page of its rules
	Cells template.HTML // the answer for each caller, with the address of its explanation
}

// maskMatrixRow is one mask, with what each caller sees.
type maskMatrixRow struct {
	Name, Members string
	Sees          []access.Answer
}

const (
	toolsPerMatrix   = 50
	callersPerMatrix = 12
	selfName         = "you"
)

// matrices are the callers of the configuration that is served.
type matrices struct {
	mu   sync.Mutex
	cfg  *hcl.Config             // guarded by mu, as all below
	made map[bool]*access.Matrix // with or without columns for API keys and subjects
}

// of returns the matrix of a configuration.
func (m *matrices) of(cfg *hcl.Config, persons bool) *access.Matrix {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cfg != cfg {
		m.cfg, m.made = cfg, map[bool]*access.Matrix{}
	}
	if m.made[persons] == nil {
		callers := access.Callers(cfg, nil)
		if !persons {
			callers = slices.DeleteFunc(callers, access.Caller.IsPerson)
		}
		m.made[persons] = access.New(cfg, callers)
	}
	return m.made[persons]
}

// matrixFor returns the matrix with the callers that the person may ask about.
func (c *Console) matrixFor(q *request, cfg *hcl.Config) *access.Matrix {
	return c.matrices.of(cfg, permitOperator(c, q) == "")
}

// columnsFor returns the columns of a matrix, after one for the person who looks.
func columnsFor(q *request, m *access.Matrix) []access.Column {
	self := access.OfCaller(selfName, q.caller)
	return append([]access.Column{{Name: selfName, Callers: []access.Caller{self}}}, m.Columns()...)
}

// policies shows which callers may call which tools.
func (c *Console) policies(q *request) (*answer, error) {
	g, err := c.admit(q)
	if err != nil {
		return nil, err
	}
	m := c.matrixFor(q, g.Config)
	names := map[string]bool{}
	for _, column := range columnsFor(q, m) {
		names[column.Name] = true
	}
	does := filterField{Name: "does", Label: "Does", Choices: []choice{{"", "all"}}}
	for _, word := range []string{"reads", "writes", "destructive"} {
		does.Choices = append(does.Choices, choice{word, word})
	}
	data := &policiesData{Matrix: m, Default: defaultText(g.Config), Bar: newFilterBar(q, toolField(g),
		filterField{Name: "caller", Label: "Caller", Choices: choicesOf(names), IsText: true, Hint: "any"},
		does)}
	tool, caller := data.Bar.Fields[0].Value, data.Bar.Fields[1].Value
	word := data.Bar.Fields[2].Value
	var columns []access.Column
	for _, column := range columnsFor(q, m) {
		if strings.Contains(strings.ToLower(column.Name), strings.ToLower(caller)) {
			columns = append(columns, column)
		}
	}
	from, to := data.Callers.turn(q, "callers", len(columns), callersPerMatrix)
	columns = columns[from:to]
	var found []*hcl.Tool
	for _, t := range g.Config.Tools {
		if matches(tool, t.Name) && (word == "" || badgesOf(t)[0].Word == word) {
			found = append(found, t)
		}
	}
	from, to = data.pager.turn(q, "page", len(found), toolsPerMatrix)
	data.fill(g.Config, found[from:to], columns)
	return &answer{template: "policies", title: "Policies", data: data}, nil
}

// fill sets the rows and columns.
func (d *policiesData) fill(cfg *hcl.Config, tools []*hcl.Tool, columns []access.Column) {
	callers := make([]access.Caller, len(columns))
	cells := make([]cellParts, len(columns))
	for i, column := range columns {
		d.Columns = append(d.Columns, newMatrixColumn(column))
		callers[i] = column.Callers[0]
		cells[i] = newCellParts(column)
	}
	targets := make([]access.Target, len(tools))
	for i, t := range tools {
		targets[i] = access.ToolTarget(t)
	}
	answers := access.Answers(cfg, targets, callers)
	for _, t := range tools {
		row := matrixRow{Name: t.Name, Does: badgesOf(t)[0], Path: targetPath("tool", t.Name)}
		path := html.EscapeString(row.Path)
		var out strings.Builder
		out.Grow(200 * len(columns))
		for i, answer := range answers[t.Name] {
			cells[i].append(&out, path, string(answer))
		}
		row.Cells = template.HTML(out.String())
		d.Rows = append(d.Rows, row)
	}
	d.Masks = maskMatrix(cfg, callers)
}

// maskMatrix returns what callers see of each mask.
func maskMatrix(cfg *hcl.Config, callers []access.Caller) (rows []maskMatrixRow) {
	for i, mask := range access.MaskRows(cfg, callers) {
		m := cfg.Masks[i]
		members := append(slices.Clone(m.Members), m.Detect.Words()...)
		row := maskMatrixRow{Name: mask.Name, Members: strings.Join(members, ", ")}
		for _, c := range callers {
			row.Sees = append(row.Sees, mask.Answers[c.Name])
		}
		rows = append(rows, row)
	}
	return rows
}

// cellParts are the parts of the cells of a column, escaped. A template would take most of the time of the page.
type cellParts struct{ caller, query string }

func newCellParts(column access.Column) cellParts {
	return cellParts{html.EscapeString(column.Name), html.EscapeString(callerQuery(column.Callers[0].Name))}
}

// append writes the cell of a tool. The answer is a word of package access.
func (c cellParts) append(out *strings.Builder, path, answer string) {
	for _, part := range []string{`<td class="`, answer, `" data-of="`, c.caller, `"><a href="`, path, c.query, `">`,
		answer, "</a></td>"} {
		out.WriteString(part)
	}
}

// newMatrixColumn separates what a caller is from its name.
func newMatrixColumn(column access.Column) matrixColumn {
	out := matrixColumn{Name: column.Name, Key: column.Callers[0].Name}
	for _, kind := range []string{"group", "key", "subject"} {
		if name, ok := strings.CutPrefix(column.Name, kind+" "); ok {
			out.Kind, out.Name = kind, name
		}
	}
	return out
}

// callerQuery returns what chooses a caller in an address; empty for the person who looks.
func callerQuery(name string) string {
	if name == selfName {
		return ""
	}
	return "?" + url.Values{"caller": {name}}.Encode()
}

// targetPath returns the address of the page that explains the rules about a tool, a prompt or a resource.
func targetPath(kind, name string) string {
	return policiesPath + "/" + kind + "/" + url.PathEscape(name)
}
