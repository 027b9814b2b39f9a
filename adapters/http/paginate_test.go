package http_test

import (
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
)

// servePages serves five pages of two items. A query parameter, the JSON body or the URL selects the page.
func servePages(t testing.TB) *recorder {
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		var body struct {
			Variables struct{ After int }
		}
		if json.NewDecoder(r.Body).Decode(&body) == nil && body.Variables.After != 0 {
			page = body.Variables.After
		}
		if offset, err := strconv.Atoi(r.URL.Query().Get("offset")); err == nil {
			page = offset/2 + 1
		}
		page = max(page, 1)
		if page > 5 {
			fmt.Fprint(w, `{"items": [], "next": null}`)
			return
		}
		next := "null"
		if page < 5 {
			next = strconv.Itoa(page + 1)
			w.Header().Set("Link", fmt.Sprintf(`</list?page=%d>; rel="next"`, page+1))
		}
		fmt.Fprintf(w, `{"items": [%d, %d], "next": %s}`, page*10, page*10+1, next)
	})
	return s
}

var allItems = []any{10, 11, 20, 21, 30, 31, 40, 41, 50, 51}

func TestAllPagesAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		request, param, next string
		pages                int
	}{
		"by a cursor":                     {`get = "/list?q=1"`, "page", "output.body.next", 5},
		"by the JSON body":                {"post = \"/list?q=1\"\n json = { query = \"x\", variables = { size = 2 } }", "json.variables.after", "output.body.next", 5},
		"by a link header":                {`get = "/list?q=1"`, "", "link(output.headers, 'next')", 5},
		"by page number, to a short page": {`get = "/list?q=1"`, "page", "length(output.page_items) == 2 ? output.page + 1 : null", 6},
		"by page number, to a total":      {`get = "/list?q=1"`, "page", "output.count < 10 ? output.page + 1 : null", 5},
		"by offset":                       {`get = "/list?q=1"`, "offset", "length(output.page_items) == 2 ? output.count : null", 6},
		"by the last item":                {`get = "/list?q=1"`, "page", "output.page_items == [] ? null : string(int(last(output.page_items) / 10) + 1)", 6},
		"by a map": {"get = \"/list\"\n query = { q = 1, page = 1, first = true }", "",
			"output.page < 5 ? {page: output.page + 1, first: null, tags: ['a', 'b']} : null", 5},
	} {
		t.Run(name, func(t *testing.T) {
			s := servePages(t)
			b := adaptertest.Bind(t, source(s.URL, "  auth {\n    query = { key = secret.key }\n  }", "", paginated(c.request, c.param, c.next)))
			out, err := b.Do(t.Context(), `{}`)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(resolved(t, out["items"]), allItems) || out["pages"] != c.pages || out["truncated"] != false {
				t.Errorf("output %v", out)
			}
			for i, r := range s.seen {
				query := r.URL.Query()
				if !reflect.DeepEqual(query["key"], []string{"s3cret-k3y"}) || len(query["page"]) > 1 || len(query["offset"]) > 1 {
					t.Errorf("requested %s", r.URL)
				}
				if c.param != "" && query.Get("q") != "1" || strings.HasPrefix(c.param, "json.") && query.Has("page") {
					t.Errorf("requested %s", r.URL)
				}
				if name == "by a map" && (query.Get("q") != "1" || query.Has("first") != (i == 0) || len(query["tags"]) != 2 && i > 0) {
					t.Errorf("requested %s", r.URL)
				}
			}
		})
	}
}

// paginated returns the arguments of a block that reads pages.
func paginated(request, param, next string) string {
	if param != "" {
		param = fmt.Sprintf("param = %q\n", param)
	}
	return fmt.Sprintf("%s\n paginate {\n %sitems = \"output.body.items\"\n next = %q\n }", request, param, next)
}

// A response chooses the next page, and must not choose the credentials of its request.
func TestAMapOfParametersDoesNotReplaceCredentials(t *testing.T) {
	s := serve(t, respond(`{"items": [1], "next": {"key": "other", "page": 2}}`))
	b := adaptertest.Bind(t, source(s.URL, "  auth {\n    query = { key = secret.key }\n  }", "", paginated(`get = "/list"`, "", "output.page < 2 ? output.body.next : null")))
	if _, err := b.Do(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	if got := s.last().URL.Query(); !reflect.DeepEqual(got["key"], []string{"s3cret-k3y"}) || got.Get("page") != "2" {
		t.Errorf("requested %v", got)
	}
}

func TestTheSamePageIsNotRequestedTwice(t *testing.T) {
	for next, requests := range map[string]int{"7": 2, "{page: 7}": 2, "'/list'": 1} {
		t.Run(next, func(t *testing.T) {
			s := serve(t, respond(`{"items": [1]}`))
			param := ""
			if next == "7" {
				param = "page"
			}
			b := adaptertest.Bind(t, source(s.URL, "", "", paginated("get = \"/list\"", param, next)))
			_, err := b.Do(t.Context(), `{}`)
			wantPart(t, wantFault(t, err).Message, "the pages form a loop: the request for page")
			if s.count() != requests {
				t.Errorf("%d requests", s.count())
			}
		})
	}
}

// An off-by-one in next, a parameter that the service ignores, and a page number that it bounds read a page twice.
func TestAPageOfTheSameObjectsFailsTheCall(t *testing.T) {
	for _, c := range []struct{ param, next, want string }{
		{"page", "output.page", "page 2 has the same items as page 1"},
		{"pages", "output.page + 1", "page 2 has the same items as page 1"},
		{"page", "output.page + 1", "page 4 has the same items as page 3"},
	} {
		t.Run(c.param+" "+c.next, func(t *testing.T) {
			s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
				page, _ := strconv.Atoi(r.URL.Query().Get("page"))
				fmt.Fprintf(w, `{"items": [{"id": %d}, 0]}`, min(max(page, 1), 3))
			})
			_, err := adaptertest.Bind(t, source(s.URL, "", "", paginated(`get = "/list"`, c.param, c.next))).Do(t.Context(), `{}`)
			wantPart(t, wantFault(t, err).Message, c.want)
		})
	}
}

func TestPlanShowsTheDefaultOfMaxPages(t *testing.T) {
	b := adaptertest.Bind(t, source("https://shop.example", "", "", paginated(`get = "/list"`, "page", "output.page + 1")))
	plan, err := b.Plan(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	wantPart(t, plan, "and the next pages, at most 10 in total")
}

func TestMaxPages(t *testing.T) {
	s := servePages(t)
	b := adaptertest.Bind(t, source(s.URL, "", "", "get = \"/list\"\n paginate {\n param = \"page\"\n items = \"output.body.items\"\n next = \"output.body.next\"\n max_pages = 2\n }"))
	out, err := b.Do(t.Context(), `{}`)
	if err != nil || len(out["items"].([]any)) != 4 || out["pages"] != 2 || out["truncated"] != true || s.count() != 2 {
		t.Errorf("%v, %v", out, err)
	}
}

func TestMaxPagesFailACallThatNeedsAllItems(t *testing.T) {
	s := servePages(t)
	b := adaptertest.Bind(t, source(s.URL, "", "", "get = \"/list\"\n paginate {\n param = \"page\"\n items = \"output.body.items\"\n next = \"output.body.next\"\n max_pages = 2\n }"))
	call, err := b.Call(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	call.Block, call.Whole = "the http block", []string{"items"}
	_, err = b.Action.Do(t.Context(), call)
	wantPart(t, wantFault(t, err).Message, "the http block stopped at its limit, max_pages = 2, and there is more after page 2, with 4 items. "+
		"The call needs all of output.items")
}

// All pages together are limited, whatever they consist of: the memory of a million empty objects is not that of
// their text.
func TestItemsOfAllPagesAreLimited(t *testing.T) {
	for item, want := range map[string]int{
		`0`: 128, `{}`: 128, `[[]]`: 64, `{"a":{}}`: 63, `"` + strings.Repeat("x", 64) + `"`: 64,
		`{"` + strings.Repeat("x", 32) + `":1}`: 42,
	} {
		t.Run(item, func(t *testing.T) {
			served, size := 0, 15 // the service does not repeat a page
			s := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
				size = 29 - size
				served += size
				fmt.Fprintf(w, `{"items": [%s%s]}`, strings.Repeat(item+",", size-1), item)
			})
			b := adaptertest.Bind(t, source(s.URL, `  max_body = "1KiB"`, "", paginated(`get = "/list"`, "page", "output.page + 1")))
			out, err := b.Do(t.Context(), `{}`)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(out["items"].([]any)); got != want || out["truncated"] != true || got >= served || got < served-size {
				t.Errorf("%d of %d items, truncated %v", got, served, out["truncated"])
			}
		})
	}
}

func TestACallThatNeedsAllItemsFailsWhenTheyAreLimited(t *testing.T) {
	for block, want := range map[string]string{
		"max_body = \"1KiB\"\n":                 "stopped at its limit, 4 KiB of items (four times max_body)",
		"max_body = \"1KiB\"\n truncate = true": "",
		"max_body = \"1MiB\"\n max_pages = 2":   "stopped at its limit, max_pages = 2",
		"truncate = true\n max_pages = 2":       "",
	} {
		t.Run(block, func(t *testing.T) {
			maxBody, inPaginate, _ := strings.Cut(block, "\n")
			if !strings.HasPrefix(maxBody, "max_body") {
				maxBody, inPaginate = "", block
			}
			s := serve(t, respond(`{"items": [`+strings.Repeat("0,", 29)+`0]}`))
			pages := strings.Replace(paginated("get = \"/list\"\n"+maxBody, "page", "output.page + 1"), "items =", inPaginate+"\n items =", 1)
			b := adaptertest.Bind(t, source(s.URL, "", "", pages))
			call, err := b.Call(t.Context(), `{}`)
			if err != nil {
				t.Fatal(err)
			}
			call.Whole = []string{"items"}
			if _, err = b.Action.Do(t.Context(), call); want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantPart(t, wantFault(t, err).Message, want)
		})
	}
}

func TestBadPagesAreRejected(t *testing.T) {
	for page, want := range map[string]string{
		`{"items": [], "next": "same"}`:                   "the pages form a loop: the request for page 3 is the same as that for an earlier page",
		`{"items": [], "next": "http://other.invalid/x"}`: "the next page is on another host, which is not followed",
		`{"items": [], "next": "//other.invalid/x"}`:      "the next page is on another host",
		`{"items": [], "next": "file:///etc/passwd"}`:     "the next page is on another host",
		`{"items": [], "next": [1]}`:                      "the reference to the next page must be a string",
		`{"items": [], "next": {"a": {"b": 1}}}`:          "the query parameter a of the next page must be a string",
		`{"items": [], "next": 2}`:                        "the reference to the next page must be a URL, not a number",
		`{"items": [], "next": true}`:                     "next gives true, and must give what selects the next page",
		`{"items": 7, "next": null}`:                      "the items of a page must be a list, not a number",
	} {
		t.Run(page, func(t *testing.T) {
			s := serve(t, respond(page))
			b := adaptertest.Bind(t, source(s.URL, "", "", "get = \"/list\"\n paginate {\n items = \"output.body.items\"\n next = \"output.body.next\"\n }"))
			_, err := b.Do(t.Context(), `{}`)
			wantPart(t, wantFault(t, err).Message, want)
		})
	}
}
