package auth

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"hatchel/adapters/scrub"
)

// maxHidden is the maximum number of tokens whose Scrubbers a connection keeps: one takes many times the memory of its
// token.
const maxHidden = 256

// hidden holds the Scrubbers of the tokens that a connection has used last, because making one takes longer than a
// request may. It may be used concurrently.
type hidden struct {
	mu  sync.Mutex
	lru *simplelru.LRU[string, *scrub.Scrubber] // by token; guarded by mu
}

func newHidden() *hidden {
	lru, _ := simplelru.NewLRU[string, *scrub.Scrubber](maxHidden, nil) // it fails for size 0 only
	return &hidden{lru: lru}
}

// scrubberOf returns what removes a token from texts.
func (h *hidden) scrubberOf(token string) *scrub.Scrubber {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.lru.Get(token)
	if !ok {
		s = scrub.New([]string{token})
		h.lru.Add(token, s)
	}
	return s
}

// scrubbers returns those of all tokens, the one used last at the end.
func (h *hidden) scrubbers() []*scrub.Scrubber {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lru.Values()
}

// Scrub returns a text without the tokens that the connection has used last, whoever's they are. It is for texts that
// belong to no request. An Authorizer that is nil removes nothing. It may be called concurrently.
func (a *Authorizer) Scrub(text string) string {
	if a == nil {
		return text
	}
	for _, s := range a.hidden.scrubbers() {
		text = s.Text(text)
	}
	return text
}
