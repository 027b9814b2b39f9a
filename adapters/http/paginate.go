package http

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/internal/hostname"
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
	bodiesInItems   = 4 // the items of all pages may have this many times the size of a body
	jsonPrefix      = "json."
)

func (p *paginate) spec() hcl.Spec {
	body := &schema.Type{Kind: schema.Any}
	page := &schema.Member{Name: "page", Type: &schema.Type{Kind: schema.Integer}}
	count := &schema.Member{Name: "count", Type: &schema.Type{Kind: schema.Integer}}
	pageItems := &schema.Member{Name: "page_items", Type: schema.ListOf(&schema.Type{Kind: schema.Any})}
	return hcl.Join(
		hcl.Spec{hcl.Attr(&p.Param, "param", "The query parameter that selects the next page, or a member of the JSON "+
			`body such as "json.variables.after". It is set to next. Without param, next is a URL or a map.`)},
		hcl.WithPage(responseType(body, page, count),
			hcl.Attr(&p.Items, "items", `The list of a page, such as "output.body.items".`).Require()),
		hcl.WithPage(responseType(body, page, count, pageItems),
			hcl.Attr(&p.Next, "next", `What selects the next page: a text or a number for param, a URL, or a map that `+
				`is laid over query, such as "output.body.next", "length(output.page_items) == 100 ? output.page + 1 `+
				`: null" or "link(output.headers, 'next')". output.page counts from 1, and output.count is the number `+
				`of items so far. Null, false and an empty string end the list. A page with the objects of the one `+
				`before fails the call.`).Require().Decides(&p.Next)),
		hcl.Spec{hcl.PositiveInt(&p.MaxPages, "max_pages",
			"The maximum number of pages. output.truncated is true if there were more, or if the items of all pages "+
				"are larger than four times max_body, where every value counts 32 bytes or more.").DefaultDoc("10"),
			hcl.TruncateAttr(&p.Truncate, "max_pages")},
	)
}

func (p *paginate) check(checks *adapters.Checks, sendsJSON bool) {
	if path, ok := strings.CutPrefix(p.Param, jsonPrefix); ok {
		checks.Refuse(!sendsJSON || strings.Contains("."+path+".", ".."), &p.Param,
			`%q must name a member of the JSON body, such as "json.variables.after". Write json = { … }.`, p.Param)
	}
	next := p.Next.Type()
	if next == nil {
		return
	}
	switch next.Kind {
	case schema.Integer, schema.Number:
		checks.Refuse(p.Param == "", &p.Next, `next gives a number, and nothing says what it is the number of: `+
			`add the query parameter, such as param = "page".`)
	case schema.Object, schema.Map:
		checks.Refuse(p.Param != "", &p.Next,
			"next gives a map of query parameters, so param has no meaning. Remove param.")
	case schema.Bool:
		checks.Refuse(true, &p.Next, `next gives true or false, and must give what selects the next page, such as `+
			`"output.body.has_more ? output.page + 1 : null".`)
	case schema.List, schema.Set:
		checks.Refuse(true, &p.Next, "next gives a list. It must give a text, a number, a map of query parameters, or "+
			"null at the end.")
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

// paginatedAction is the action of a block that reads all pages.
type paginatedAction struct {
	*action
	paginate *paginate
}

// Do implements adapters.Action. If a page fails, the call fails.
func (a *paginatedAction) Do(ctx context.Context, call *adapters.Call) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, adapters.WithChange(err, adapters.ChangeUnsent)
	}
	read := 0
	output, err := a.readPages(ctx, call, &read)
	if read > 0 {
		err = adapters.WithChange(err, adapters.ChangeDone)
	}
	return output, err
}

// readPages reads all pages, and counts those that it has read.
func (a *paginatedAction) readPages(ctx context.Context, call *adapters.Call, read *int) (any, error) {
	items, shown, sent := []any{}, []any{}, map[[sha256.Size]byte]bool{}
	left := bodiesInItems * a.maxBody
	var page nextPage
	var earlierItems []any
	for n := 1; ; n++ {
		r := &compiledRequest{call: call, page: n}
		if err := a.compile(ctx, call.Frame, page, r); err != nil {
			return nil, markSent(adapters.WithChange(err, adapters.ChangeUnsent), n > 1)
		}
		digest := a.digest(r)
		if sent[digest] {
			const text = "the pages form a loop: the request for page %d is the same as that for an earlier page"
			return nil, &adapters.Fault{Message: fmt.Sprintf(text, n)}
		}
		sent[digest] = true
		out, err := a.roundTrip(ctx, r)
		if err != nil {
			return nil, markSent(err, n > 1)
		}
		call.Pages++
		*read = n
		out["page"], out["count"] = n, len(items)
		pageItems, err := a.items(call.Frame, out)
		if err != nil {
			return nil, err
		}
		seen, seenItems := out, pageItems
		if call.MaskPage != nil {
			if seen, err = call.MaskPage(out); err == nil {
				seenItems, err = a.items(call.Frame, seen)
			}
			if err != nil {
				return nil, err
			}
			shown = append(shown, seenItems...)
			call.Shown = map[string]any{"items": shown, "pages": n, "truncated": false}
		}
		if repeatsObjects(earlierItems, pageItems) {
			const text = "page %d has the same items as page %d: the service may not know the parameter of next, or " +
				"may count from another number"
			return nil, &adapters.Fault{Message: fmt.Sprintf(text, n, n-1)}
		}
		earlierItems = pageItems
		for _, item := range pageItems {
			if left -= value.Weight(item); left < 0 {
				return a.cutOutput(call, items, n, bodiesInItems*a.maxBody)
			}
			items = append(items, item)
		}
		seen["page_items"], seen["count"] = seenItems, len(items)
		next, err := a.next(call.Frame, seen)
		if err != nil {
			return nil, err
		}
		switch {
		case next == nil:
			return map[string]any{"items": items, "pages": n, "truncated": false}, nil
		case n >= a.paginate.maxPages():
			return a.cutOutput(call, items, n, 0)
		}
		if page, err = a.nextPage(next, r); err != nil {
			return nil, err
		}
		call.Progress(float64(n), 0, fmt.Sprintf("page %d, %d items", n, len(items)))
		if err := call.Pace.Wait(ctx); err != nil {
			return nil, markSent(err, true)
		}
	}
}

// repeatsObjects reports whether a page has the items of the page before, and one of them is an object. Pages of equal
// numbers or texts may differ in what they stand for.
func repeatsObjects(earlier, items []any) bool {
	isObject := func(item any) bool { _, ok := item.(map[string]any); return ok }
	return slices.ContainsFunc(items, isObject) && slices.EqualFunc(earlier, items, value.Equal)
}

// digest identifies the page that a request reads.
func (a *paginatedAction) digest(r *compiledRequest) [sha256.Size]byte {
	text := []byte(r.address())
	if a.block.Body.JSON != nil {
		text = append(append(text, '\n'), r.body...)
	}
	return sha256.Sum256(text)
}

// cutOutput returns the output for items of n pages of which there are more, because of max_pages or
// of a maximum size of the items.
func (a *paginatedAction) cutOutput(call *adapters.Call, items []any, n int, maxSize int64) (any, error) {
	cut := adapters.Cut{
		Members: []string{"items"}, Limit: fmt.Sprintf("max_pages = %d", a.paginate.maxPages()), Argument: "max_pages",
		Seen: fmt.Sprintf("there is more after page %d, with %d items", n, len(items)), Allowed: a.paginate.Truncate,
	}
	if maxSize > 0 {
		cut.Limit, cut.Argument = hcl.Size(maxSize).String()+" of items (four times max_body)", "max_body"
	}
	if call.Shown != nil {
		call.Shown["items"], call.Shown["truncated"] = call.Shown["items"].([]any)[:len(items)], true
	}
	return map[string]any{"items": items, "pages": n, "truncated": true}, call.Truncate(cut)
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

// items returns the items of a page.
func (a *paginatedAction) items(f *hcl.Frame, out map[string]any) ([]any, error) {
	v, err := evalOnPage(a.paginate.Items, f, out, "the items of a page")
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []any:
		return v, nil
	case nil:
		return []any{}, nil
	}
	return nil, &adapters.Fault{Message: "the items of a page must be a list, not " + diag.WithArticle(value.Kind(v))}
}

// next returns what selects the next page, or nil if there is none.
func (a *paginatedAction) next(f *hcl.Frame, out map[string]any) (any, error) {
	v, err := evalOnPage(a.paginate.Next, f, out, "the reference to the next page")
	switch {
	case err != nil || v == false || v == "":
		return nil, err
	case v == true:
		return nil, &adapters.Fault{Message: "next gives true, and must give what selects the next page"}
	}
	return v, nil
}

// nextPage is how the request of a later page differs from that of the first one.
type nextPage struct {
	url   string                          // the whole URL of the page; empty if it is the block's
	query map[string]any                  // laid over the query of the block
	edit  func(jsonBody any) (any, error) // sets the member of the body that selects the page
}

// nextPage returns how the page that next selects is requested after the request of this one.
func (a *paginatedAction) nextPage(next any, current *compiledRequest) (page nextPage, err error) {
	param := a.paginate.Param
	if overlay, ok := next.(map[string]any); ok && param == "" {
		return nextPage{query: overlay}, nil
	}
	text, err := adapters.TextOf(next)
	if err != nil {
		return page, &adapters.Fault{Message: "the reference to the next page " + err.Error()}
	}
	if path, ok := strings.CutPrefix(param, jsonPrefix); ok {
		page.edit = func(body any) (any, error) { return withValueAt(body, strings.Split(path, "."), next) }
		return page, nil
	}
	if param != "" {
		return nextPage{query: map[string]any{param: text}}, nil
	}
	if _, ok := next.(string); !ok {
		return page, &adapters.Fault{Message: "the reference to the next page must be a URL, not " +
			diag.WithArticle(value.Kind(next)) + "; the tool must name its query parameter in param"}
	}
	base, err := url.Parse(current.address())
	if err != nil {
		return page, err
	}
	at, err := base.Parse(text)
	switch {
	case err != nil:
		return page, &adapters.Fault{Message: "the reference to the next page is not a URL", Cause: err}
	case !hostname.HaveSameOrigin(base, at) || at.User != nil:
		return page, &adapters.Fault{Message: "the next page is on another host, which is not followed"}
	}
	at.Fragment, at.RawFragment = "", ""
	return nextPage{url: at.String()}, nil
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
