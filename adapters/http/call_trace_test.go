package http_test

import (
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"hatchel/adapters/adaptertest"
)

func TestTraceHasEveryTryOfEveryPageWithoutSecrets(t *testing.T) {
	n := 0
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch n++; n {
		case 1:
			w.WriteHeader(503)
			w.Write([]byte("busy, s3cret-k3y"))
		case 2:
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"items": [1], "next": 2}`))
		default:
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"items": [2], "next": null}`))
		}
	})
	b := adaptertest.Bind(t, source(s.URL, `  auth { bearer = secret.key }`, "", `get = "/x"
    retry {
      attempts = 2
      on       = ["503"]
    }
    paginate {
      param = "page"
      items = "output.body.items"
      next  = "output.body.next"
    }`))
	call, err := b.Call(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	var events, texts []string
	asked := map[time.Time]bool{} // each request moves it
	call.Trace = func(event, text string) {
		events, texts, asked[call.Asked] = append(events, event), append(texts, text), true
	}
	if _, err := b.Action.Do(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	want := "sent, page 1, try 1; received, page 1, try 1; sent, page 1, try 2; received, page 1, try 2; " +
		"sent, page 2, try 1; received, page 2, try 1"
	if got := strings.Join(events, "; "); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if len(asked) != 3 {
		t.Errorf("the service was asked at %v", asked)
	}
	all := strings.Join(texts, "\n")
	for _, part := range []string{"GET " + s.URL + "/x?page=2", "Authorization: Bearer (secret)", "503 Service Unavailable", "busy, (secret)", `{"items": [2]`} {
		if !strings.Contains(all, part) {
			t.Errorf("no %q in %s", part, all)
		}
	}
	if strings.Contains(all, "s3cret-k3y") {
		t.Errorf("the token is in %s", all)
	}
}
