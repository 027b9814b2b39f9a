package hcl

import (
	"hatchel/hcl/decode"
	"time"
)

// CacheHint says how long a client may keep what it read.
type CacheHint struct {
	TTL     time.Duration
	Private bool
}

// A cacheBlock is a cache block being decoded.
type cacheBlock struct {
	TTL   time.Duration
	Scope string
}

func (c *cacheBlock) spec() decode.Spec {
	return decode.Spec{
		decode.Attr(&c.TTL, "ttl", "How long a client may keep what it read.").Require(),
		decode.Choice(&c.Scope, "scope", `"private" keeps it for who asked, "public" for everybody.`, "private", "public").DefaultDoc("private"),
	}
}

// decodeCache is what a cache block says. What depends on who reads it is nobody else's.
func (r *resourceDecoder) decodeCache() {
	if r.cache == nil {
		return
	}
	r.resource.CacheHint = &CacheHint{TTL: r.cache.TTL, Private: r.cache.Scope != "public"}
	if r.cache.Scope == "public" && (r.resource.Allow != nil || len(r.resource.Scopes) > 0) {
		r.dec.Errorf(r.blockRange("cache"), "Untrue cache scope", "scope = \"public\" lets one caller see what another has read, and `allow` or `scopes` says that not everybody may. Write scope = \"private\".")
	}
}
