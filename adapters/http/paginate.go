package http

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// paginate is a paginate block.
type paginate struct {
	Param    string
	Items    *hcl.Program
	Next     *hcl.Program
	MaxPages int // 0 for the default
	Truncate bool
}

const (
	defaultMaxPages = 10
	jsonPrefix      = "json."
)

func (p *paginate) spec() hcl.Spec {
	return hcl.Join(
		hcl.Spec{hcl.Attr(&p.Param, "param", "The query parameter that selects the next page, or a member of the JSON "+
			`body such as "json.variables.after". Without it, next is the URL of the next page.`)},
		hcl.WithOutput(responseType(&schema.Type{Kind: schema.Any}),
			hcl.Attr(&p.Items, "items", `The list of a page, such as "output.body.items".`).Require(),
			hcl.Attr(&p.Next, "next", `The reference to the next page, such as "output.body.next" or `+
				`"link(output.headers, 'next')". Null, false and an empty string end the list.`).Require(),
		),
		hcl.Spec{hcl.PositiveInt(&p.MaxPages, "max_pages",
			"The maximum number of pages. output.truncated is true if there were more.").DefaultDoc("10"),
			hcl.TruncateAttr(&p.Truncate, "max_pages")},
	)
}

func (p *paginate) check(checks *adapters.Checks, sendsJSON bool) {
	if path, ok := strings.CutPrefix(p.Param, jsonPrefix); ok {
		checks.Refuse(!sendsJSON || strings.Contains("."+path+".", ".."), &p.Param,
			`%q must name a member of the JSON body, such as "json.variables.after". Write json = { … }.`, p.Param)
	}
}

// maxPages returns the maximum number of pages of a call.
func (p *paginate) maxPages() int { return cmp.Or(p.MaxPages, defaultMaxPages) }

// unlimited returns why the items are certainly cut once there are enough of them, or nil.
func (p *paginate) unlimited() error {
	if p == nil || p.Truncate || p.MaxPages > 0 {
		return nil
	}
	return hcl.Blame(&p.Next, "All pages are read, and max_pages is %d by default.", defaultMaxPages)
}

// cut reports to the call that there are more pages than were read.
func (p *paginate) cut(call *adapters.Call, pages, items int) error {
	return call.Truncate(adapters.Cut{Members: []string{"items"}, Limit: fmt.Sprintf("max_pages = %d", p.maxPages()),
		Argument: "max_pages", Seen: fmt.Sprintf("there is more after %d pages with %d items", pages, items),
		Allowed: p.Truncate})
}

// paginatedAction is the action of a block that reads all pages.
type paginatedAction struct {
	*action
	paginate *paginate
}

// Do implements adapters.Action. If a page fails, the call fails.
func (a *paginatedAction) Do(ctx context.Context, call *adapters.Call) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	items, seen := []any{}, map[string]bool{}
	var page nextPage
	for n := 1; ; n++ {
		r := &compiledRequest{call: call}
		if err := a.compile(ctx, call.Frame, page, r); err != nil {
			return nil, markSent(err, n > 1)
		}
		out, err := a.roundTrip(ctx, r)
		if err != nil {
			return nil, markSent(err, n > 1)
		}
		if items, err = a.appendItems(call.Frame, out, items); err != nil {
			return nil, err
		}
		cursor, err := a.cursor(call.Frame, out)
		if err != nil {
			return nil, err
		}
		if cursor == "" || n >= a.paginate.maxPages() {
			if cursor != "" {
				err = a.paginate.cut(call, n, len(items))
			}
			return map[string]any{"items": items, "pages": n, "truncated": cursor != ""}, err
		}
		if seen[cursor] {
			return nil, &adapters.Fault{Message: fmt.Sprintf(
				"the service's pages form a loop: page %d refers to a page that was read before", n)}
		}
		seen[cursor] = true
		if page, err = a.nextPage(cursor, r); err != nil {
			return nil, err
		}
		call.Progress(float64(n), 0, fmt.Sprintf("page %d, %d items", n, len(items)))
	}
}

// markSent returns the error of a page. If earlier pages were sent, it does not report that nothing was.
func markSent(err error, earlier bool) error {
	f := new(adapters.Fault)
	if !earlier || !errors.As(err, &f) || !f.NotSent {
		return err
	}
	sent := *f
	sent.NotSent = false
	return &sent
}

// evalOnPage evaluates an expression on the output of a page; what names it in messages.
func evalOnPage(p *hcl.Program, f *hcl.Frame, out map[string]any, what string) (any, error) {
	v, err := p.Eval(f, out)
	if err == nil {
		v, err = value.Resolve(v)
	}
	if err != nil {
		return nil, &adapters.Fault{Message: what + ": " + err.Error(), Cause: err}
	}
	return v, nil
}

func (a *paginatedAction) appendItems(f *hcl.Frame, out map[string]any, items []any) ([]any, error) {
	v, err := evalOnPage(a.paginate.Items, f, out, "the items of a page")
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []any:
		return append(items, v...), nil
	case nil:
		return items, nil
	}
	return nil, &adapters.Fault{Message: "the items of a page must be a list, not " + diag.WithArticle(value.Kind(v))}
}

// cursor returns the reference to the next page, or "" if there is none.
func (a *paginatedAction) cursor(f *hcl.Frame, out map[string]any) (string, error) {
	v, err := evalOnPage(a.paginate.Next, f, out, "the reference to the next page")
	if err != nil || v == nil || v == false {
		return "", err
	}
	text, err := scalar(v)
	if err != nil {
		return "", &adapters.Fault{Message: "the reference to the next page " + err.Error()}
	}
	return text, nil
}

// nextPage is how the request of a later page differs from that of the first one.
type nextPage struct {
	url           string                          // the whole URL of the page; empty if it is the block's
	param, cursor string                          // the query parameter that selects the page, and its text
	edit          func(jsonBody any) (any, error) // sets the member of the body that selects the page
}

// nextPage returns how the next page is requested after the request of this one.
func (a *paginatedAction) nextPage(cursor string, current *compiledRequest) (page nextPage, err error) {
	param := a.paginate.Param
	if path, ok := strings.CutPrefix(param, jsonPrefix); ok {
		page.edit = func(body any) (any, error) { return withValueAt(body, strings.Split(path, "."), cursor) }
		return page, nil
	}
	if param != "" {
		return nextPage{param: param, cursor: cursor}, nil
	}
	base, err := url.Parse(current.address())
	if err != nil {
		return page, err
	}
	next, err := base.Parse(cursor)
	switch {
	case err != nil:
		return page, &adapters.Fault{Message: "the reference to the next page is not a URL", Cause: err}
	case !sameOrigin(base, next) || next.User != nil:
		return page, &adapters.Fault{Message: "the next page is on another host, which is not followed"}
	}
	next.Fragment, next.RawFragment = "", ""
	return nextPage{url: next.String()}, nil
}

// withValueAt returns a copy of body with a value at a path. It does not modify body, and shares the
// members that are not on the path.
func withValueAt(body any, path []string, v any) (any, error) {
	if len(path) == 0 {
		return v, nil
	}
	body, err := value.Resolve(body)
	if err != nil {
		return nil, err
	}
	m, ok := body.(map[string]any)
	if !ok && body != nil {
		return nil, fmt.Errorf("the body cannot have the member %q for the next page, because it is %s there",
			path[0], diag.WithArticle(value.Kind(body)))
	}
	out := make(map[string]any, len(m)+1)
	maps.Copy(out, m)
	out[path[0]], err = withValueAt(m[path[0]], path[1:], v)
	return out, err
}
