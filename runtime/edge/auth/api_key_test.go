package auth_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/edge/auth"
)

const ci, boss = "the key of the pipeline", "the key of the boss"

func TestKeyIdentifiesCaller(t *testing.T) {
	c, _ := newAuthenticator(t, &hcl.Auth{Keys: []*hcl.APIKey{
		{Name: "boss", Digest: digest(boss), Groups: []string{"admin"}, Scopes: []string{"all"}},
		{Name: "ci", Digest: digest(ci)},
	}})
	for name, r := range map[string]*http.Request{
		"Bearer":          request("Authorization", "Bearer "+boss),
		"bearer in lower": request("Authorization", "bearer "+boss),
		"X-API-Key":       request("X-API-Key", boss),
	} {
		t.Run(name, func(t *testing.T) {
			got := accept(t, c, r)
			if got.Subject != "boss" || got.Key != "boss" || fmt.Sprint(got.Groups, got.Scopes) != "[admin] [all]" {
				t.Errorf("identity %+v", got)
			}
		})
	}
	t.Run("without groups", func(t *testing.T) {
		if got := accept(t, c, request("X-API-Key", ci)); got.Subject != "ci" || len(got.Groups) > 0 {
			t.Errorf("identity %+v", got)
		}
	})
}

func TestBadKeysAreRefused(t *testing.T) {
	c, _ := newAuthenticator(t, &hcl.Auth{Keys: []*hcl.APIKey{{Name: "ci", Digest: digest(ci)}}})
	for name, x := range map[string]struct {
		r    *http.Request
		want string
	}{
		"no credential":          {request(), `401 Bearer realm="hatchel"`},
		"no key":                 {request("Authorization", "Bearer"), "401"},
		"an empty key":           {request("Authorization", "Bearer "), "401"},
		"no scheme":              {request("Authorization", ci), "401"},
		"another scheme":         {request("Authorization", "Basic "+ci), "401"},
		"a trailing space":       {request("Authorization", "Bearer "+ci+" "), "401"},
		"a part of the key":      {request("Authorization", "Bearer "+ci[1:]), "401"},
		"the digest of the key":  {request("Authorization", fmt.Sprintf("Bearer %x", digest(ci))), "401"},
		"an empty header":        {request("X-API-Key", ""), "401"},
		"a scheme in X-API-Key":  {request("X-API-Key", "Bearer "+ci), "401"},
		"two X-API-Key headers":  {request("X-API-Key", ci, "X-API-Key", ci), "400"},
		"both headers":           {request("X-API-Key", ci, "Authorization", "Bearer "+ci), "400"},
		"two Bearer credentials": {request("Authorization", "Bearer "+ci, "Authorization", "Bearer "+ci), "400"},
	} {
		t.Run(name, func(t *testing.T) { refuse(t, c, x.r, x.want) })
	}
}

func TestKeyExpires(t *testing.T) {
	key := &hcl.APIKey{Name: "ci", Digest: digest(ci), Expires: time.Now().Add(time.Hour)}
	c, clock := newAuthenticator(t, &hcl.Auth{Keys: []*hcl.APIKey{key}})
	accept(t, c, request("X-API-Key", ci))
	clock.advance(2 * time.Hour)
	if challenge := refuse(t, c, request("X-API-Key", ci), "401"); !strings.Contains(challenge, "expired") {
		t.Errorf("the challenge is %s", challenge)
	}
}

func TestReplacedKeyEndsItsIdentities(t *testing.T) {
	c, _ := newAuthenticator(t, &hcl.Auth{Keys: []*hcl.APIKey{{Name: "ci", Digest: digest(ci)}}})
	i := accept(t, c, request("X-API-Key", ci))
	later, _ := newAuthenticator(t, &hcl.Auth{Keys: []*hcl.APIKey{{Name: "ci", Digest: digest(boss)}}})
	if later.StillValid(i) {
		t.Error("the identity of the replaced key is still valid")
	}
}

func TestNewWithoutCredentials(t *testing.T) {
	t.Run("returns nil", func(t *testing.T) {
		if c, _ := newAuthenticator(t, nil); c != nil {
			t.Errorf("got %v", c)
		}
	})
	t.Run("keeps anonymous callers valid", func(t *testing.T) {
		var none *auth.Authenticator
		if !none.StillValid(nil) {
			t.Error("an anonymous caller is not valid any more")
		}
	})
	t.Run("ends the identities of before", func(t *testing.T) {
		var none *auth.Authenticator
		c, _ := newAuthenticator(t, &hcl.Auth{Keys: []*hcl.APIKey{{Name: "ci", Digest: digest(ci)}}})
		if none.StillValid(accept(t, c, request("X-API-Key", ci))) || c.StillValid(nil) {
			t.Error("an identity is valid that should not be")
		}
	})
}
