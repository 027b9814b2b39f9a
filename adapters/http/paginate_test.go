package http_test

import (
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"reflect"
	"strconv"
	"testing"

	"hatchel/adapters/adaptertest"
)

// servePages serves five pages of two items. A query parameter, the JSON body or the URL selects the page.
func servePages(t testing.TB) *recorder {
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		var body struct {
			Variables struct{ After string }
		}
		if json.NewDecoder(r.Body).Decode(&body) == nil && body.Variables.After != "" {
			page, _ = strconv.Atoi(body.Variables.After)
		}
		page = max(page, 1)
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
	for name, block := range map[string]string{
		"by a query parameter": "get = \"/list?q=1\"\n query = { size = 2, page = 1 }\n paginate {\n param = \"page\"\n items = \"output.body.items\"\n next = \"output.body.next\"\n }",
		"by the JSON body":     "post = \"/list\"\n json = { query = \"x\", variables = { size = 2 } }\n paginate {\n param = \"json.variables.after\"\n items = \"output.body.items\"\n next = \"output.body.next\"\n }",
		"by a link header":     "get = \"/list\"\n paginate {\n items = \"output.body.items\"\n next = \"link(output.headers, 'next')\"\n }",
	} {
		t.Run(name, func(t *testing.T) {
			s := servePages(t)
			b := adaptertest.Bind(t, source(s.URL, "  auth {\n    query = { key = secret.key }\n  }", "", block))
			out, err := b.Do(t.Context(), `{}`)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(resolved(t, out["items"]), allItems) || out["pages"] != 5 || out["truncated"] != false {
				t.Errorf("output %v", out)
			}
			for _, r := range s.seen {
				if got := r.URL.Query()["key"]; !reflect.DeepEqual(got, []string{"s3cret-k3y"}) {
					t.Errorf("%s has the key %v", r.URL, got)
				}
				if name == "by a query parameter" && (len(r.URL.Query()["page"]) != 1 || r.URL.Query().Get("q") != "1") {
					t.Errorf("requested %s", r.URL)
				}
				if name == "by the JSON body" && r.URL.Query().Has("page") {
					t.Errorf("requested %s", r.URL)
				}
			}
		})
	}
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
	wantPart(t, wantFault(t, err).Message, "the http block stopped at its limit, max_pages = 2, and there is more after 2 pages with 4 items. "+
		"The call needs all of output.items")
}

func TestBadPagesAreRejected(t *testing.T) {
	for page, want := range map[string]string{
		`{"items": [], "next": "same"}`:                   "the service's pages form a loop",
		`{"items": [], "next": "http://other.invalid/x"}`: "the next page is on another host, which is not followed",
		`{"items": [], "next": "//other.invalid/x"}`:      "the next page is on another host",
		`{"items": [], "next": "file:///etc/passwd"}`:     "the next page is on another host",
		`{"items": [], "next": {"a": 1}}`:                 "the reference to the next page must be a string",
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
