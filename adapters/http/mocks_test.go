package http_test

import (
	"context"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/hcl/mock"
)

func TestMocksAnswerWhatTheConnectionSends(t *testing.T) {
	var sent []string
	mocks := &adaptertest.Mocks{Reply: func(_ context.Context, q *mock.Question) (map[string]any, error) {
		r := q.Raw.(*nethttp.Request)
		sent = append(sent, q.Connection+" "+r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization"))
		if !slices.Contains(q.Secrets, "hush-hush") {
			t.Errorf("secrets %q", q.Secrets)
		}
		switch len(sent) {
		case 1:
			return map[string]any{"fail": "refused"}, nil
		case 2:
			return map[string]any{"status": 503}, nil
		}
		return map[string]any{"json": map[string]any{"id": 7}}, nil
	}}
	s := mockedSource(`
secret "shop" { env = "SHOP" }
connection "http" "shop" {
  base_url = "http://shop.invalid/api/"
  ca_file  = "not-there.pem"
  auth { bearer = secret.shop }
  retry {
    attempts = 3
    backoff  = "1ms"
  }
}
tool "order" {
  description = "Reads."
  http "shop" {
    get      = "/orders/7"
    response = object({ id = integer })
  }
}`, mocks)
	s.Env = map[string]string{"SHOP": "hush-hush"}
	b := adaptertest.Bind(t, s)
	out, err := b.Do(t.Context(), `{}`)
	if err != nil || out["status"] != 200 {
		t.Fatal(out, err)
	}
	const want = "shop GET http://shop.invalid/api/orders/7 Bearer hush-hush"
	if !slices.Equal(sent, []string{want, want, want}) {
		t.Errorf("sent %q", sent)
	}
}

func TestARequestWithoutAMockIsNotRetried(t *testing.T) {
	requests := 0
	mocks := &adaptertest.Mocks{Reply: func(context.Context, *mock.Question) (map[string]any, error) {
		requests++
		return nil, &adapters.Fault{Message: "no mock answers this"}
	}}
	b := adaptertest.Bind(t, mockedSource(`
tool "order" {
  description = "Reads."
  http {
    get = "http://shop.invalid/orders/7"
    retry { backoff = "1ms" }
  }
}`, mocks))
	_, err := b.Do(t.Context(), `{}`)
	if err == nil || !strings.Contains(err.Error(), "no mock answers this") || requests != 1 {
		t.Errorf("%d requests, error %v", requests, err)
	}
}

func TestAMockOfLinesAnswersAList(t *testing.T) {
	for name, reply := range map[string]map[string]any{
		"json": {"json": []any{map[string]any{"id": 7}, map[string]any{"id": 8}}},
		"text": {"text": "{\"id\": 7}\n{\"id\": 8}\n"},
	} {
		mocks := &adaptertest.Mocks{Reply: func(context.Context, *mock.Question) (map[string]any, error) { return reply, nil }}
		b := adaptertest.Bind(t, mockedSource(`
tool "orders" {
  description = "Reads."
  http {
    get      = "http://shop.invalid/orders"
    as       = "jsonl"
    response = object({ id = integer })
  }
}`, mocks))
		out, err := b.Do(t.Context(), `{}`)
		if err != nil || len(out["body"].([]any)) != 2 {
			t.Errorf("%s: %v, %v", name, out, err)
		}
	}
}

func mockedSource(text string, mocks adapters.Mocks) adaptertest.Source {
	return adaptertest.Source{Set: testSet, HCL: text, Mocks: mocks}
}
