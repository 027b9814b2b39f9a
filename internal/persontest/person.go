// Package persontest walks through the pages of a sign-in, as a person with a browser does.
package persontest

import (
	"cmp"
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
)

const (
	maxPages    = 20
	maxPageSize = 1 << 20 // bytes
)

// Person has a browser of its own. It is not safe for concurrent use.
type Person struct {
	Decision string // on a page that asks for consent: "allow", also by default, or "deny"
	Pages    []Page // that were shown, the latest last

	browser *http.Client
}

// Page is what a browser shows.
type Page struct {
	URL    string
	Status int
	Text   string
}

// New returns a person whose browser trusts what transport trusts; nil for the default one.
func New(transport http.RoundTripper) *Person {
	jar, _ := cookiejar.New(nil) // which cannot fail without options
	return &Person{browser: &http.Client{
		Jar: jar, Transport: transport,
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if r.URL.Scheme != "http" && r.URL.Scheme != "https" {
				return http.ErrUseLastResponse // another program has the address
			}
			return nil
		},
	}}
}

var (
	refresh = regexp.MustCompile(`<meta http-equiv="refresh" content="[0-9]+; *url=([^"]*)"`)
	form    = regexp.MustCompile(`(?s)<form method="post" action="([^"]*)"[^>]*>(.*?)</form>`)
	hidden  = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
)

// Visit opens an address, follows redirects and pages that lead on, and answers pages that ask for consent. It returns
// the address at which that ends: of the last page, or of a program that is no browser.
func (p *Person) Visit(ctx context.Context, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	for range maxPages {
		if err != nil {
			return "", err
		}
		response, err := p.browser.Do(request)
		if err != nil {
			return "", err
		}
		text, err := io.ReadAll(io.LimitReader(response.Body, maxPageSize))
		response.Body.Close()
		if err != nil {
			return "", err
		}
		if location := response.Header.Get("Location"); location != "" {
			return location, nil
		}
		at := response.Request.URL
		p.Pages = append(p.Pages, Page{URL: at.String(), Status: response.StatusCode, Text: string(text)})
		if request, err = p.next(ctx, at, string(text)); request == nil || err != nil {
			return at.String(), err
		}
	}
	return "", fmt.Errorf("%s leads to more than %d pages", address, maxPages)
}

// next returns the request to which a page leads; nil for the last one.
func (p *Person) next(ctx context.Context, at *url.URL, page string) (*http.Request, error) {
	if m := refresh.FindStringSubmatch(page); m != nil {
		to, err := at.Parse(html.UnescapeString(m[1]))
		if err != nil {
			return nil, err
		}
		return http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	}
	m := form.FindStringSubmatch(page)
	if m == nil || !strings.Contains(m[2], `name="decision"`) {
		return nil, nil
	}
	to, err := at.Parse(html.UnescapeString(m[1]))
	if err != nil {
		return nil, err
	}
	values := url.Values{"decision": {cmp.Or(p.Decision, "allow")}}
	for _, input := range hidden.FindAllStringSubmatch(m[2], -1) {
		values.Set(html.UnescapeString(input[1]), html.UnescapeString(input[2]))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), strings.NewReader(values.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", at.Scheme+"://"+at.Host)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	return request, nil
}
