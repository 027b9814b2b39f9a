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

// book has five pages of two items; a page is asked for by a query parameter, by the JSON body or by its URL.
func book(t testing.TB) *shop {
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

var all = []any{10, 11, 20, 21, 30, 31, 40, 41, 50, 51}

func TestPagesAreFollowed(t *testing.T) {
	for name, block := range map[string]string{
		"Query": "get = \"/list?q=1\"\n query = { size = 2, page = 1 }\n paginate {\n param = \"page\"\n items = \"output.body.items\"\n next = \"output.body.next\"\n }",
		"JSON":  "post = \"/list\"\n json = { query = \"x\", variables = { size = 2 } }\n paginate {\n param = \"json.variables.after\"\n items = \"output.body.items\"\n next = \"output.body.next\"\n }",
		"Link":  "get = \"/list\"\n paginate {\n items = \"output.body.items\"\n next = \"link(output.headers, 'next')\"\n }",
	} {
		t.Run(name, func(t *testing.T) {
			s := book(t)
			b := adaptertest.Bind(t, tool(s.URL, "  auth {\n    query = { key = secret.key }\n  }", "", block))
			out, err := b.Do(t.Context(), `{}`)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(resolved(t, out["items"]), all) || out["pages"] != 5 || out["truncated"] != false {
				t.Errorf("output %v", out)
			}
			for _, r := range s.seen {
				if got := r.URL.Query()["key"]; !reflect.DeepEqual(got, []string{"s3cret-k3y"}) {
					t.Errorf("%s is signed in with %v", r.URL, got)
				}
				if name == "Query" && (len(r.URL.Query()["page"]) != 1 || r.URL.Query().Get("q") != "1") {
					t.Errorf("asked for %s", r.URL)
				}
				if name == "JSON" && r.URL.Query().Has("page") {
					t.Errorf("asked for %s", r.URL)
				}
			}
		})
	}
}

func TestPagesEndAtTheLimit(t *testing.T) {
	s := book(t)
	b := adaptertest.Bind(t, tool(s.URL, "", "", "get = \"/list\"\n paginate {\n param = \"page\"\n items = \"output.body.items\"\n next = \"output.body.next\"\n max_pages = 2\n }"))
	out, err := b.Do(t.Context(), `{}`)
	if err != nil || len(out["items"].([]any)) != 4 || out["pages"] != 2 || out["truncated"] != true || s.count() != 2 {
		t.Errorf("%v, %v", out, err)
	}
}

func TestPagesThatLeadAstrayAreRefused(t *testing.T) {
	for next, want := range map[string]string{
		`"same"`:                   "the service's pages form a loop",
		`"http://other.invalid/x"`: "the next page is on another host, which is not followed",
		`"//other.invalid/x"`:      "the next page is on another host",
		`"file:///etc/passwd"`:     "the next page is on another host",
		`{"a": 1}`:                 "the reference to the next page must be a string",
	} {
		s := serve(t, answer(`{"items": [], "next": `+next+`}`))
		b := adaptertest.Bind(t, tool(s.URL, "", "", "get = \"/list\"\n paginate {\n items = \"output.body.items\"\n next = \"output.body.next\"\n }"))
		_, err := b.Do(t.Context(), `{}`)
		has(t, fault(t, err).Message, want)
	}
	s := serve(t, answer(`{"items": 7, "next": null}`))
	b := adaptertest.Bind(t, tool(s.URL, "", "", "get = \"/list\"\n paginate {\n items = \"output.body.items\"\n next = \"output.body.next\"\n }"))
	_, err := b.Do(t.Context(), `{}`)
	has(t, fault(t, err).Message, "the items of a page must be a list, not a number")
}
