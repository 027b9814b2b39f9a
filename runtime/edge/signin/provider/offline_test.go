package provider

import (
	"testing"

	"hatchel/runtime/edge/auth/issuer"
)

func TestPromptsAreThoseOfTheProvider(t *testing.T) {
	for address, want := range map[string][2]bool{ // login, select_account
		"https://accounts.google.com":                   {false, true},
		"https://login.microsoftonline.com/tenant/v2.0": {true, true},
		"https://company.okta.com/oauth2/default":       {true, false},
	} {
		for i, value := range []string{"login", "select_account"} {
			if takesPrompt(address, new(issuer.Metadata), value) != want[i] {
				t.Errorf("%s with %s: %v", address, value, !want[i])
			}
		}
	}
}

func TestEachProviderIsAskedForARefreshTokenInItsWay(t *testing.T) {
	consent, none := offline{prompt: "consent"}, offline{}
	for address, c := range map[string]struct {
		prompts []string
		want    offline
	}{
		"https://id.example":                                    {nil, consent},
		"https://keycloak.example/realms/a":                     {[]string{"none", "login", "consent"}, consent},
		"https://login.example":                                 {[]string{"none", "login"}, none},
		"https://accounts.google.com":                           {nil, offline{"consent", "offline", true}},
		"https://login.microsoftonline.com/tenant/v2.0":         {nil, none},
		"https://sts.windows.net/tenant/":                       {nil, none},
		"https://login.microsoftonline.us/tenant/v2.0":          {nil, none},
		"https://tenant.ciamlogin.com/tenant/v2.0":              {nil, none},
		"https://login.microsoftonline.com.evil.example/tenant": {nil, consent},
		"https://evilciamlogin.com/tenant":                      {nil, consent},
	} {
		if got := offlineParameters(address, &issuer.Metadata{Prompts: c.prompts}); got != c.want {
			t.Errorf("%s: %+v", address, got)
		}
	}
}
