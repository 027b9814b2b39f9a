package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hatchel/adapters/scrub"
	"hatchel/hcl"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/internal/digest"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
	output "hatchel/runtime/stage/result"
)

// tryData is the part of the page of a tool where it is tried.
type tryData struct {
	Plan, Call string // where the form posts to; Call is empty where tools are not called
	Copy       string // where it posts to for its Commands
	Tool       string
	Version    string // differs from that of a form with other fields
	Form       *field
	Fields     template.HTML // of the Form
	Raw        *string       // all arguments as JSON, in place of the Form; empty if any is sensitive
	Problems   []string      // of Raw
	TooLong    bool          // for a form, so Raw is in place of it

	Planned *planned
	Refused string // why there is no plan
	Result  *result

	Commands  []command // of the same call
	Unreached bool      // by clients, which have no Commands

	entered []byte // as JSON; nil until they were read
	typed   string // Raw, also of sensitive arguments
	hidden  *scrub.Scrubber
}

// planned is what a call would do.
type planned struct {
	Approvals string // that it would need, a line each
	Effects   []effectView
}

var errRows = &Error{http.StatusUnprocessableEntity, fmt.Sprintf("The form has more than %d fields, or it is too "+
	"long for a page and has sensitive inputs. Go back, and enter the arguments as JSON", maxAllFields)}

// newTry returns the form of a tool with what was posted; nil where tools are not tried.
func newTry(q *request, t *hcl.Tool, posted url.Values) (*tryData, error) {
	if q.block.Try == hcl.TryNone {
		return nil, nil
	}
	data := &tryData{Tool: toolPath(t.Name), Plan: toolPath(t.Name) + "/plan",
		Copy: toolPath(t.Name) + "/copy"}
	if q.block.Try == hcl.TryCall && t.Listed {
		data.Call = toolPath(t.Name) + "/call"
	}
	data.Version = formVersion(t, data.Call)
	if posted.Has(rawField) {
		data.typed, data.Raw = strings.ReplaceAll(posted.Get(rawField), "\r\n", "\n"), new(string)
		if !output.HasSensitive(t.Input) {
			*data.Raw = data.typed
		}
		return data, nil
	}
	var fits bool
	switch data.Form, fits = newForm(t.Input, posted); {
	case fits:
	case len(posted) > 0:
		return nil, errRows
	default:
		data.enterJSON("{}")
	}
	return data, nil
}

// formVersion identifies the form of a tool that posts to an address.
func formVersion(t *hcl.Tool, post string) string {
	parts := []string{post, string(t.Input.AppendSchema(nil))}
	for _, m := range t.Input.Members {
		if m.Type.Sensitive {
			parts = append(parts, m.Name)
		}
	}
	return digest.Of(parts...).String()[:16]
}

// prefill returns what the address of a page wants in its form: ?arguments= of an earlier call, and ?as=json.
func prefill(q *request, input *schema.Type) url.Values {
	query := q.URL.Query()
	arguments := query.Get(rawField)
	if arguments != "" && query.Get("as") != "json" {
		if posted, ok := fill(input, []byte(arguments)); ok {
			return posted
		}
	}
	if arguments == "" && query.Get("as") != "json" {
		return nil
	}
	return url.Values{rawField: {cmp.Or(arguments, "{}")}}
}

// arguments returns the arguments that were entered, as the server accepts them. It reports false for a form with
// problems. Checking them ends with the timeout of the tool.
func (d *tryData) arguments(ctx context.Context, t *hcl.Tool, l schema.Lenience) (text []byte, ok bool) {
	text = d.enteredArguments()
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	budget := formBudget{&functions.Context{Call: ctx}}
	var values map[string]any
	var violations []schema.Violation
	text, err := t.Validator.Accept(text, l, budget)
	if err == nil {
		values, violations, err = t.Validator.Arguments(text, budget)
	}
	if err != nil {
		d.Problems = append(d.Problems, "Checking the arguments took longer than the timeout of the tool.")
		return text, false
	}
	d.hidden = scrub.New(output.SensitiveTexts(nil, values, t.Input, false))
	if d.Raw != nil {
		for _, v := range violations {
			d.Problems = append(d.Problems, v.String())
		}
		return text, len(violations) == 0
	}
	d.Form.addViolations(violations)
	return text, !d.Form.hasProblems()
}

// enteredArguments returns what was entered as JSON, which need not be valid.
func (d *tryData) enteredArguments() []byte {
	switch {
	case d.entered != nil:
	case d.Raw != nil:
		d.entered = []byte(d.typed)
	default:
		d.entered = d.Form.arguments()
	}
	return d.entered
}

// formBudget is what the arguments of a form may take, whose text has a maximum length.
type formBudget struct{ *functions.Context }

func (formBudget) Reserve(int64) error { return nil }

func (c *Console) plan(q *request) (*answer, error) {
	return c.try(q, c.showPlan)
}

func (c *Console) call(q *request) (*answer, error) {
	return c.try(q, c.makeCall)
}

// copyCall shows what makes the call of a form elsewhere.
func (c *Console) copyCall(q *request) (*answer, error) { return c.try(q, nil) }

// try reads the form of a tool and, if it has no mistakes, does something with its arguments; nil for nothing.
func (c *Console) try(q *request, do func(*request, *call.Program, *toolData, []byte) error) (*answer, error) {
	g, err := c.admit(q)
	if err != nil {
		return nil, err
	}
	page, err := c.newToolData(q, g)
	if err != nil {
		return nil, err
	}
	p, _ := g.Program(page.Name)
	if cursor := q.PostForm.Get(nextField); cursor != "" {
		q.PostForm.Set(formRoot+"."+hcl.CursorInput, cursor)
	}
	if page.Try, err = newTry(q, page.Tool, q.PostForm); err != nil {
		return nil, err
	}
	out := &answer{template: "tool", title: page.Name, data: page, page: page.Try.Tool}
	copies, changes := do == nil, q.PostForm.Has("add") || q.PostForm.Has("remove")
	var arguments []byte
	isRight := copies || changes
	if !isRight {
		arguments, isRight = page.Try.arguments(q.Context(), page.Tool, g.Config.Server.Lenience)
	}
	if err := page.Try.renderForm(page.Tool, q.PostForm); err != nil {
		return nil, err
	}
	c.layOut(q, page, p)
	switch {
	case !isRight, copies && page.Try.Commands == nil:
		out.status = http.StatusUnprocessableEntity
	case !copies && !changes:
		if err := do(q, p, page, arguments); err != nil {
			return nil, err
		}
	}
	return out, c.addCalls(q, page)
}

// Mistakes returns the fields with mistakes.
func (d *tryData) Mistakes() (wrong []*field) {
	if d.Form != nil {
		d.Form.each(func(f *field) {
			if len(f.Problems) > 0 {
				wrong = append(wrong, f)
			}
		})
	}
	return wrong
}

// showPlan shows what a call of the person who is signed in would send.
func (c *Console) showPlan(q *request, p *call.Program, page *toolData, arguments []byte) error {
	data := page.Try
	approvals, effects, err := p.PlanEffects(q.Context(), q.caller, arguments)
	if err != nil {
		data.Refused = data.hidden.Text(err.Error())
		return nil
	}
	for i := range effects {
		effects[i] = effects[i].Map(data.hidden.Text)
	}
	data.Planned = &planned{data.hidden.Text(approvals), viewEffects(effects)}
	return nil
}

// nextField has the cursor of the next page of the result, where a person asks for that.
const nextField = "next"

// turnsPages reports whether the next page of the result can be asked for with the form: it has all other arguments
// again, since none is sensitive.
func (d *tryData) turnsPages(t *hcl.Tool) bool {
	return t.Page != nil && d.Form != nil && !slices.ContainsFunc(t.Input.Members, func(m *schema.Member) bool {
		return m.Name != hcl.CursorInput && output.HasSensitive(m.Type)
	})
}

// formatOf returns the format of the answer to a call; empty for a tool without formats.
func formatOf(t *hcl.Tool, arguments []byte) string {
	input, err := value.Decode(arguments)
	members, _ := input.(map[string]any)
	if err != nil || !t.HasTables() {
		return ""
	}
	return t.Format(members)
}

// makeCall calls a tool as the person who is signed in, as any client of theirs would.
func (c *Console) makeCall(q *request, p *call.Program, page *toolData, arguments []byte) error {
	data := page.Try
	if data.Call == "" {
		return &Error{http.StatusForbidden, "This tool is not listed, so clients cannot call it"}
	}
	http.NewResponseController(q.writer).SetReadDeadline(time.Time{}) // the form was read, and a call may take long
	outcome, err := c.Host.CallTool(q.Context(), &mcp.CallRequest{
		Name: p.Tool().Name, Arguments: arguments, Caller: q.caller, NoWait: true,
	})
	var protocol *mcp.Error
	switch {
	case errors.As(err, &protocol):
		data.Refused = data.hidden.Text(protocol.Message)
		return nil
	case err != nil:
		return err
	}
	data.Result = c.newResult(q, &outcome, data.hidden, page.room)
	if data.Result.Format = formatOf(page.Tool, arguments); !data.turnsPages(page.Tool) {
		data.Result.Next = ""
	}
	if encoded := data.Result.encoded; encoded != nil {
		data.Result.View = c.newViewFrame(q, page, encoded)
	}
	return nil
}
