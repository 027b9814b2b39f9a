package http

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// paginate is a paginate block.
type paginate struct {
	Param    string
	Items    *hcl.Program
	Next     *hcl.Program
	MaxPages int
}

const (
	defaultPages = 10
	inJSON       = "json."
)

func (p *paginate) spec() hcl.Spec {
	p.MaxPages = defaultPages
	param := hcl.Spec{
		hcl.Attr(&p.Param, "param", "What asks for the next page: a query parameter, or a member of the JSON body as in \"json.variables.after\". Without it, next is the URL of the next page."),
	}
	page := hcl.WithOutput(answerType(&schema.Type{Kind: schema.Any}),
		hcl.Attr(&p.Items, "items", "The list that a page holds, as in \"output.body.items\".").Require(),
		hcl.Attr(&p.Next, "next", "What asks for the page after this one, as in \"output.body.next\" or \"link(output.headers, 'next')\". Null, false and an empty text end the list.").Require(),
	)
	return hcl.Join(param, page, hcl.Spec{
		hcl.Attr(&p.MaxPages, "max_pages", "How many pages are read at most; output.truncated says whether there were more.").DefaultDoc("10"),
	})
}

func (p *paginate) check(r *request) (errs []error) {
	if p.MaxPages < 1 {
		errs = append(errs, hcl.Blame(&p.MaxPages, "max_pages is at least 1."))
	}
	if r.As != asJSON || r.Head != nil {
		errs = append(errs, hcl.Blame(&r.Paginate, "Pages are read as JSON: remove `as`, and ask with a verb that has an answer."))
	}
	if path, ok := strings.CutPrefix(p.Param, inJSON); ok {
		if r.Body.JSON == nil || strings.Contains("."+path+".", "..") {
			errs = append(errs, hcl.Blame(&p.Param, "%q names a member of the JSON body, as in \"json.variables.after\", and needs one: write json = { … }.", p.Param))
		}
	}
	return errs
}

// pages is the Action of a block that follows pages.
type pages struct {
	*action
	paginate *paginate
}

// Do implements adapters.Action. A page that fails fails the call.
func (p *pages) Do(ctx context.Context, call *adapters.Call) (adapters.Result, error) {
	if err := ctx.Err(); err != nil {
		return adapters.Result{}, err
	}
	items, seen := []any{}, map[string]bool{}
	var next *turn
	for n := 1; ; n++ {
		d, err := p.draft(ctx, call, next)
		if err != nil {
			return adapters.Result{}, err
		}
		out, err := p.exchange(ctx, d)
		if err != nil {
			return adapters.Result{}, err
		}
		if items, err = p.collect(call.Frame, out, items); err != nil {
			return adapters.Result{}, err
		}
		mark, err := p.mark(call.Frame, out)
		if err != nil {
			return adapters.Result{}, err
		}
		if mark == "" || n >= p.paginate.MaxPages {
			return adapters.Result{Value: map[string]any{"items": items, "pages": n, "truncated": mark != ""}}, nil
		}
		if seen[mark] {
			return adapters.Result{}, &adapters.Fault{Message: fmt.Sprintf("the service's pages lead in a circle: page %d names a page that was read before", n)}
		}
		seen[mark] = true
		if next, err = p.turn(mark, d); err != nil {
			return adapters.Result{}, err
		}
		call.Progress(float64(n), 0, fmt.Sprintf("page %d, %d items", n, len(items)))
	}
}

func (p *pages) collect(f *hcl.Frame, out map[string]any, items []any) ([]any, error) {
	v, err := p.paginate.Items.Eval(f, out)
	if err == nil {
		v, err = value.Resolve(v)
	}
	if err != nil {
		return nil, &adapters.Fault{Message: "the items of a page: " + err.Error(), Cause: err}
	}
	switch v := v.(type) {
	case []any:
		return append(items, v...), nil
	case nil:
		return items, nil
	}
	return nil, &adapters.Fault{Message: "the items of a page must be a list, and they are " + article(value.Kind(v))}
}

// mark is what names the next page; empty when there is none.
func (p *pages) mark(f *hcl.Frame, out map[string]any) (string, error) {
	v, err := p.paginate.Next.Eval(f, out)
	if err == nil {
		v, err = value.Resolve(v)
	}
	if err != nil {
		return "", &adapters.Fault{Message: "the next page: " + err.Error(), Cause: err}
	}
	if v == nil || v == false {
		return "", nil
	}
	text, err := scalar(v)
	if err != nil {
		return "", &adapters.Fault{Message: "what names the next page " + err.Error()}
	}
	return text, nil
}

// turn says how the next page is asked for.
func (p *pages) turn(mark string, d *draft) (*turn, error) {
	param := p.paginate.Param
	if path, ok := strings.CutPrefix(param, inJSON); ok {
		return &turn{json: func(body any) (any, error) { return placed(body, strings.Split(path, "."), mark) }}, nil
	}
	if param != "" {
		return &turn{query: &parameter{name: param, text: mark}}, nil
	}
	here, err := url.Parse(d.address())
	if err != nil {
		return nil, err
	}
	there, err := here.Parse(mark)
	switch {
	case err != nil:
		return nil, &adapters.Fault{Message: "what names the next page is not a URL", Cause: err}
	case !sameOrigin(here, there) || there.User != nil:
		return nil, &adapters.Fault{Message: "the next page is on another host, which is not followed"}
	}
	there.Fragment, there.RawFragment = "", ""
	return &turn{url: there.String()}, nil
}

// placed returns body with v at a path. What lies beside the path is shared; body itself is not changed.
func placed(body any, path []string, v any) (any, error) {
	if len(path) == 0 {
		return v, nil
	}
	body, err := value.Resolve(body)
	if err != nil {
		return nil, err
	}
	m, ok := body.(map[string]any)
	if !ok && body != nil {
		return nil, fmt.Errorf("the body has no member %q for the next page: it is %s there", path[0], article(value.Kind(body)))
	}
	out := make(map[string]any, len(m)+1)
	for k, e := range m {
		out[k] = e
	}
	out[path[0]], err = placed(m[path[0]], path[1:], v)
	return out, err
}
