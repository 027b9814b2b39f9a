package credential

import (
	"strings"
	"testing"
	"time"
)

func TestANameCountsByItsLastWords(t *testing.T) {
	for _, name := range strings.Fields(`password Password DB_PASSWORD dbPassword pgpassword PGPASSWORD MYSQL_PWD
		user_password api_key apiKey apikey API-KEY X-Api-Key X-API-KEY x_api_key Authorization Proxy-Authorization Cookie
		Set-Cookie X-Auth-Token PRIVATE-TOKEN X-Vault-Token access_token accessToken refresh_token client_secret
		clientSecret CLIENT_SECRET secret webhook_secret AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN private_key
		secret_key_base SECRET_KEY_BASE signing_key Ocp-Apim-Subscription-Key DD-API-KEY DD-APPLICATION-KEY GITHUB_TOKEN
		NPM_TOKEN passphrase SMTP_PASS pass bearer user[api_key] credentials PASSWORD_2 jwt APIKey X-Functions-Key`) {
		if !IsName(name) {
			t.Errorf("%q is a name of a credential", name)
		}
	}
	for _, name := range strings.Fields(`API_URL X-Sort-Key page_token nextPageToken max_tokens key primary_key sort_key
		public_key token_url author passport_no signed_url_ttl secretary keyboard monkey idempotency_key Idempotency-Key
		cache_key partition_key X-Request-Signature-Algorithm token_type grant_type password_hash password_file API_KEY_FILE
		auth authority authors tokenizer passage bypass compass two_pass password_reset_url secret_name cookie_consent
		key_id access_key_id AWS_ACCESS_KEY_ID query url sign design basic_auth_enabled pagination_token continuationToken`) {
		if IsName(name) {
			t.Errorf("%q is no name of a credential", name)
		}
	}
}

func TestALabelCountsByTheEndsOfItsClauses(t *testing.T) {
	for _, label := range []string{
		"Password", "Enter your GitHub password.", "Your password, please", "Your password please", "Password (min. 8)",
		"API key of your account", "Password / passphrase", "Pa\u0455\u0455word", "\u0440assword", "\uff30assword", "Access token: starts with gh",
		"PIN number", "Security code on the back", "The recovery phrase of your wallet", "Secret = ?", "your one-time code again",
		"𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝",
	} {
		if !IsAskedText(label) {
			t.Errorf("%q asks for a credential", label)
		}
	}
	for _, label := range []string{
		"", "Name", "Password reset page", "Token name", "Maximum number of tokens", "How long the password reset link lives",
		"Sort key for results", "Δt in seconds", "Ваш логин", "Card colour", "Public key of the host", "Days until the token expires",
	} {
		if IsAskedText(label) {
			t.Errorf("%q asks for no credential", label)
		}
	}
}

func TestATextUnderANameOfACredentialIsOneUnlessItSaysNothing(t *testing.T) {
	for _, text := range []string{"hunter2", "Bearer abc", "Basic dXNlcjpwYXNz", "changeme", "password", "123456", "p",
		"Token token=abcdef", "correct horse battery staple", "0xdeadbeef", "s3cr3t/with/slashes"} {
		if !IsNamed("Authorization", text) {
			t.Errorf("%q is a credential", text)
		}
	}
	for _, text := range []string{"", " ", "Bearer", "Bearer ", "none", "true", "false", "0", "42", "<token>",
		"Bearer <token>", "${TOKEN}", "$TOKEN", "{{token}}", "xxxxxxxx", "…", "/run/secrets/token", "./token", "no-check",
		"https://login.example/token"} {
		if IsNamed("token", text) {
			t.Errorf("%q is no credential", text)
		}
	}
	for text, want := range map[string]bool{"session=4f2a9c": true, "lang=en": false, "lang=en; sid=8d7f6a5b": true,
		"theme=dark; consent=yes": false, "abcdef123": true} {
		if got := IsNamed("Cookie", text); got != want {
			t.Errorf("Cookie: %s: %v", text, got)
		}
	}
	for text, want := range map[string]bool{"id": false, "user_id": false, "9f86d081884c7d659a2feaa0": true} {
		if got := IsNamed("key", text); got != want {
			t.Errorf("key = %q: %v", text, got)
		}
	}
}

// formed are credentials of each form.
var formed = []string{
	"sk_live_51H8abcDEF0123456789", "sk_test_abcdefghij", "rk_live_abcdefgh1", "sk-proj-abc123def456ghi789jkl",
	"sk-ant-api03-abcdefghij0123456789", "sk-abcdefghijklmnopqrstuvwxyz123456", "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
	"gho_16C7e42F292c6912E7710c838347Ae178B4a", "github_pat_11ABCDEFG0abcdefghijkl_0123456789", "glpat-0123456789abcdefghij",
	"xoxb-123456789012-abcdefghijkl", "xoxp-1234567890-abc", "xoxa-2-abcdef0123", "AKIAIOSFODNN7EXAMPLE",
	"ASIAABCDEFGHIJKLMNOP", "AIzaSyA-0123456789abcdefghijklmnopqrstu", "npm_abcdefghijklmnopqrstuvwxyz0123456789",
	"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
	"-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
	"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\n",
	`{"type":"service_account","private_key":"-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----\n"}`,
	"https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx",
	"https://discord.com/api/webhooks/123456789012345678/abcdefghijklmnopqrstuvwxyz",
	"SG.abcdef0123456789.abcdefghijklmnop", "whsec_abcdefgh0123456789", "shpat_0123456789abcdef0123456789abcdef",
	"hvs.CAESIJabcdefghijklmnop0123", "dapi0123456789abcdef0123456789abcdef", "hf_abcdefghijklmnopqrstuvwxyz012345",
	"dckr_pat_abcdefghijklmnop0123", "pypi-AgEIcHlwaS5vcmcCJDAwMDAw", "ya29.a0AfH6SMabcdefghij0123",
	"postgres://app:hunter2@db.internal:5432/shop", "https://user:pass@example.com/", "redis://:hunter2@cache:6379/0",
	"mysql://root:root@localhost/shop", "app:hunter2@tcp(db:3306)/shop", "amqp://guest:guest@mq/",
	"host=db user=app password=hunter2 dbname=shop", "Server=db;User Id=sa;Password=hunter2;",
	"DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=abc0123==;EndpointSuffix=core.windows.net",
	"Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=abcdef",
	"https://api.example/v1?api_key=abcdef123", "/orders?access_token=abc&page=1",
	"https://bucket.s3.amazonaws.com/x?X-Amz-Signature=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	"Authorization: Basic dXNlcjpwYXNz", "Bearer 8d7f6a5b4c3d2e1f0a9b", "CREATE USER a IDENTIFIED BY 'hunter2'",
	"ALTER ROLE app WITH PASSWORD 'hunter2'", "PRAGMA key = 'hunter2'",
	"https://oauth2:glpat-0123456789abcdefghij@gitlab.example/x.git",
}

func TestACredentialIsFoundByItsForm(t *testing.T) {
	for _, text := range formed {
		for _, around := range []string{"%", "Use % here.", "(%)", "a=%"} {
			whole := strings.Replace(around, "%", text, 1)
			m, found := Find(whole)
			if !found {
				t.Errorf("%q has a credential", whole)
			} else if got := Redact(whole); m.Start == m.End || got == whole || Redact(got) != got {
				t.Errorf("%q without credentials is %q", whole, got)
			}
		}
	}
	for _, text := range []string{"a sketch of a risk-management-plan", "task_pk_orders and pk-index, sk_test_",
		"pk_live_0123456789abcdef", "ghs_hazard", "ghs_hazard_code", "sk-learn-gradient-boosting-classifier", "npm_config_cache",
		"eyJ", "AKIA", "xoxo", "ghp_xxxxxxxxxxxxxxxxxxxx", "https://example.com:8443/x@y", "postgres://app@db/shop",
		"postgres://app:@db/shop", "https://<user>:<password>@example.com", "/x?page_token=abc&sort_key=name",
		"SELECT * FROM t WHERE host = $1 AND password = $2", "WHERE password='x'", "-----BEGIN CERTIFICATE-----\nMII",
		"-----BEGIN PUBLIC KEY-----\nMII", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"Bearer token", "a bearer of bad news", "basic auth", "basic authentication", "SG.x", "hf_model", "mailto:a@b.example",
		"git@github.com:org/repo.git", "2024-01-01T10:00:00Z", "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
		"host=db user=app dbname=shop sslmode=require", "r8_x", "SET password_encryption = 'scram-sha-256'",
		"a?b:c@d", "x://y", "glpat-…", "github_pat_token_for_builds"} {
		if m, found := Find(text); found {
			t.Errorf("%q has %s", text, m.Noun)
		}
	}
}

func TestACredentialIsFoundInTheWordsOfACommand(t *testing.T) {
	for _, words := range [][]string{
		{"psql", "--password=hunter2"}, {"vault", "login", "-token=abc"}, {"x", "--api-key", "abc"},
		{"curl", "-H", "Authorization: Bearer abc"}, {"curl", "-HX-Api-Key: abc"}, {"curl", "--header=Cookie: sid=abcdef"},
		{"curl", "-u", "user:pass"}, {"curl", "-uuser:pass"}, {"http", "-a", "user:pass"}, {"curl", "--user=user:pass"}, {"env", "PGPASSWORD=x", "psql"},
		{"mysql", "-phunter2"}, {"curl", "-d", `{"password": "x"}`}, {"curl", "-d", "user=a&password=x"},
		{"curl", "https://user:pass@example.com"}, {"gh", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"},
	} {
		if _, _, found := FindWord(words); !found {
			t.Errorf("%q has a credential", words)
		}
	}
	for _, words := range [][]string{
		{"ps", "-u", "www-data"}, {"docker", "run", "-u", "node:node"}, {"chown", "user:group"}, {"mkdir", "-p", "x"},
		{"x", "--token-file=/run/x"}, {"x", "--max-tokens=100"}, {"x", "--api-key", Unknown}, {"x", "--password=" + Unknown},
		{"curl", "-H", "Authorization: Bearer " + Unknown}, {"curl", "-H", "Accept: application/json"}, {"sort", "--key=2"},
		{"curl", "-u", Unknown + ":" + Unknown}, {"grep", "-e", "password"}, {"jq", "-r", ".token"}, {"ssh", "-pubkey"},
		{"gcloud", "secrets", "versions", "access", "latest", "--secret=shop-token"}, {"gcloud", "--secret", "shop-token"},
		{"x", "--password"}, {"x", "--token", "--verbose"}, {"sort", "-k", "2"}, {"curl", "-u", "user:"},
	} {
		if i, m, found := FindWord(words); found {
			t.Errorf("%q has %s in word %d", words, m.Noun, i)
		}
	}
}

func TestACredentialIsFoundInABody(t *testing.T) {
	for _, body := range []string{`{"user": "a", "password": "hunter2"}`, "user=a&password=hunter2", "X-Api-Key: abc\nAccept: x",
		`{"a": {"client_secret":"x"}}`} {
		if _, found := FindNamed(body); !found {
			t.Errorf("%q has a credential", body)
		}
	}
	for _, body := range []string{`{"user": "a", "password": ""}`, "user=a&page_token=hunter2", "Accept: x",
		`{"token_type":"Bearer"}`} {
		if m, found := FindNamed(body); found {
			t.Errorf("%q has %s", body, m.Noun)
		}
	}
}

// Eight times the text takes about eight times as long: the search reads each byte a bounded number of times. The bound
// of the ratio is generous, because quadratic work has a ratio of 64.
func TestTheSearchTakesLinearTime(t *testing.T) {
	for _, part := range []string{"sk-", "eyJ-", "://", "@tcp(", "a=", "?password=", "'", "-----BEGIN ", "Basic ",
		"host=a password=", "=", "SG.", "identified by '", "-----BEGIN PRIVATE KEY----", "glpat-", "a", "://a:"} {
		fastest := func(n int) time.Duration {
			text, best := strings.Repeat(part, n), time.Hour
			for range 3 {
				start := time.Now()
				FindAll(text)
				best = min(best, time.Since(start))
			}
			return best
		}
		small, large := fastest(2000), fastest(16000)
		if large > 40*small && large > 200*time.Millisecond {
			t.Errorf("%q: 2,000 take %v and 16,000 take %v", part, small, large)
		}
	}
}
