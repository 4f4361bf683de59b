// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redaction

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// random are texts of random bytes.
const (
	random64  = "q7Xv2LkP9sWz4RtY8uBn3McJ6hGf1DaE"
	random16  = "q7Xv2LkP9sWz4RtY"
	hexKey    = "9f86d081884c7d659a2feaa0c55ad015"
	sha256sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// web token and other texts are composed, since scanners look for them.
var (
	webToken   = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiJwaW50bGUifQ." + "4pcPyMD09olPSyXnrXCjTwXyr4"
	privateKey = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEvQIBADANBgkqx/7KJg==\n-----END RSA " + "PRIVATE KEY-----\n"
	awsKey     = "AKIA" + "IOSFODNN7EXAMPLE"
	public     = "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n-----END CERTIFICATE-----\n"
)

// TestCredentials: values that look like credentials are found by their keys and forms, and others are
// not. Each case is a document with the paths and nouns of the findings.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const byName, text, key = "a credential by its name", "a text with a credential by its name", "a random key"
	cases := map[string]struct{ values, what string }{
		// Names.
		"Password":         {"password: hunter2", byName},
		"GuessedPassword":  {"adminPassword: admin", byName},
		"ShortPassword":    {"password: x", byName},
		"NumericPassword":  {"password: 123456", byName},
		"Environment":      {"DB_PASSWORD: hunter2", byName},
		"KebabCase":        {"mysql-root-password: hunter2", byName},
		"LowerCase":        {"rootpassword: hunter2", byName},
		"Numbered":         {"password2: hunter2", byName},
		"NumberedSnake":    {"password_2: hunter2", byName},
		"NumberedPass":     {"db_pass_2: hunter2", byName},
		"AcronymPass":      {"DBPass: hunter2", byName},
		"Passphrase":       {"gpgPassphrase: correct horse battery", byName},
		"Pass":             {"smtp_pass: hunter2", byName},
		"Token":            {"authToken: abc", byName},
		"Acronym":          {"APIKey: abc", byName},
		"APIKey":           {"api_key: abc", byName},
		"ClientSecret":     {"oidc: {clientSecret: abc}", byName},
		"AWSSecret":        {"aws: {secretAccessKey: abc}", byName},
		"LicenseKey":       {"licenseKey: abc", byName},
		"List":             {"tokens: [abc]", byName},
		"NamedValue":       {"env: [{name: DB_PASSWORD, value: hunter2}]", byName},
		"NamedNumber":      {"env: [{name: DB_PASSWORD, value: 7}]", byName},
		"DottedName":       {"set: [{name: auth.password, value: hunter2}]", byName},
		"BcryptHash":       {"adminPassword: $2a$10$abcdefghijk", byName},
		"SecretKey":        {"secretKey: " + random64, byName},
		"WeakHex":          {"secret: 9f86d081884c7d65", byName},
		"WeakBase64":       {"encryptionKey: " + random16, byName},
		"PasswordWithPath": {"password: /hunter2", byName},
		// Forms.
		"PrivateKey":        {"tls: {a: " + quoted(privateKey) + "}", "a private key"},
		"PrivateKeyInText":  {"config: " + quoted("a\n"+privateKey+"b"), "a private key"},
		"PrivateKeyEscaped": {"a: " + quoted(strings.ReplaceAll(privateKey, "\n", `\n`)), "a private key"},
		"PrivateKeyBase64":  {"a: " + base64.StdEncoding.EncodeToString([]byte(privateKey)), "a private key"},
		"PrivateKeyDER":     {"a: MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj", "a private key in base64"},
		"OpenSSHKey":        {"a: " + quoted(strings.ReplaceAll(privateKey, "RSA", "OPENSSH")), "a private key"},
		"ReferredForm":      {"existingSecret: " + webToken, "a JSON Web Token"},
		"WebToken":          {"a: " + webToken, "a JSON Web Token"},
		"WebTokenInText":    {"a: 'x " + webToken + " y'", "a JSON Web Token"},
		"AWSKey":            {"a: " + awsKey, "an access key of AWS"},
		"AWSKeyInText":      {"a: 'id=" + awsKey + "'", "an access key of AWS"},
		"URL":               {"a: postgres://u:hunter2@db:5432/x", "a URL with a password"},
		"URLWithoutUser":    {"a: redis://:hunter2@db", "a URL with a password"},
		"URLInText":         {"a: 'see amqp://u:hunter2@mq/ now'", "a URL with a password"},
		"GitHub":            {"a: ghp" + "_" + random64, "a token of GitHub"},
		"GitLab":            {"a: glpat" + "-" + random64, "a token of GitLab"},
		"Slack":             {"a: xoxb" + "-1234567890-1234567890-abc", "a token of Slack"},
		"SlackWebhook":      {"a: https://hooks.slack.com/services/" + "T00000000/B00000000/XXXXXXXX", "a webhook of Slack"},
		"Stripe":            {"a: sk" + "_live_" + random64, "a key of Stripe"},
		"BasicHeader":       {"a: Basic " + base64.StdEncoding.EncodeToString([]byte("bird:hunter2")), "a header with credentials"},
		"BearerHeader":      {"headers: {Authorization: Bearer " + random64 + "}", "a header with credentials"},
		"RandomBase64":      {"a: " + random64, key},
		"RandomHex":         {"a: " + hexKey, key},
		"RandomUpperHex":    {"a: " + strings.ToUpper(hexKey), key},
		"RandomPadded":      {"a: " + random64 + "==", key},
		// Texts in values.
		"Properties":   {"config: " + quoted("a=b\nspring.datasource.password=hunter2\n"), text},
		"YAML":         {"config: " + quoted("db:\n  password: hunter2\n"), text},
		"JSON":         {"config: '{\"db\":{\"password\":\"hunter2\"}}'", text},
		"Argument":     {"args: [--password=hunter2]", text},
		"Export":       {"script: " + quoted("export TOKEN=hunter2"), text},
		"Connection":   {"dsn: 'host=db user=x password=hunter2'", text},
		"ADO":          {"a: 'Server=db;User Id=x;Password=hunter2'", text},
		"DockerConfig": {"a: " + base64.StdEncoding.EncodeToString([]byte(`{"auths":{"r":{"password":"hunter22"}}}`)), text},
		// Names that only look so.
		"Required":          {"passwordRequired: true", ""},
		"Boolean":           {"token: true", ""},
		"Null":              {"password: null", ""},
		"Empty":             {"password: ''", ""},
		"Spaces":            {"password: '  '", ""},
		"TTL":               {"tokenTTL: 5m", ""},
		"Duration":          {"token: 24h", ""},
		"Size":              {"token: 10Mi", ""},
		"Word":              {"token: disabled", ""},
		"MaxTokens":         {"maxTokens: 4096", ""},
		"Port":              {"port: 8443", ""},
		"PasswordFile":      {"passwordFile: /etc/secrets/db", ""},
		"Path":              {"token: /var/run/secrets/token", ""},
		"TokenURL":          {"token: https://issuer.example.com/token", ""},
		"ProxyPass":         {"proxy_pass: http://backend:8080", ""},
		"Compass":           {"compass: north", ""},
		"Secret":            {"secret: web-tls", ""},
		"KeyOfSecret":       {"secretKey: password", ""},
		"SecretName":        {"secretName: web", ""},
		"ExistingSecret":    {"existingSecret: " + hexKey, ""},
		"ExistingPassword":  {"existingSecretPassword: db", ""},
		"SecretRef":         {"passwordSecretRef: {name: db, password: x, key: password}", ""},
		"ValueFrom":         {"env: [{name: DB_PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}]", ""},
		"PullSecrets":       {"imagePullSecrets: [{name: regcred}]", ""},
		"SecretKeys":        {"auth: {secretKeys: {password: admin-password}}", ""},
		"Encrypted":         {"encryptedData: {password: AgBy3i4OJSWK+PiTySYZZA9rO43cGDEq}", ""},
		"ServiceAccount":    {"automountServiceAccountToken: false", ""},
		"EmptyMap":          {"password: {}", ""},
		"Variable":          {"password: ${DB_PASSWORD}", ""},
		"VariableInURL":     {"a: postgres://u:${PW}@db", ""},
		"PodVariable":       {"a: postgres://$(USER):$(PASSWORD)@db", ""},
		"ShellVariable":     {"password: $DB_PASSWORD", ""},
		"Template":          {"password: '{{ .Values.global.password }}'", ""},
		"TemplateOfKey":     {"a: " + quoted("-----BEGIN PRIVATE KEY-----\n{{ .Values.key }}\n"), ""},
		"VaultPath":         {"password: vault:secret/data/db#password", ""},
		"PluginPath":        {"password: <path:secret/data/db#password>", ""},
		"Masked":            {"password: '*****'", ""},
		"MaskedURL":         {"a: postgres://u:xxxxx@db", ""},
		"UserOnly":          {"a: ssh://git@example.com/x", ""},
		"PathWithAt":        {"a: https://example.com:8080/path@1:2", ""},
		"Image":             {"image: example.com/web@sha256:" + sha256sum, ""},
		"ImageDigest":       {"image: {digest: sha256:" + sha256sum + "}", ""},
		"Checksum":          {"checksum: " + sha256sum, ""},
		"SHA256":            {"pluginSha256: " + sha256sum, ""},
		"Commit":            {"gitCommit: 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12", ""},
		"Ref":               {"ref: 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12", ""},
		"UUID":              {"tenant: 123e4567-e89b-12d3-a456-426614174000", ""},
		"Certificate":       {"a: " + quoted(public), ""},
		"CertificateBase64": {"caBundle: " + base64.StdEncoding.EncodeToString([]byte(public)), ""},
		"PublicKey":         {"a: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl", ""},
		"CamelCase":         {"a: ConfigurableServiceAccountTokenProviderFactory2", ""},
		"LongPath":          {"a: projects/my-project/locations/europe-west1/keyRings/web/cryptoKeys/main", ""},
		"HexWord":           {"a: feedfacedeadbeefcafebabefacadebeaded", ""},
		"BearerProse":       {"a: with Bearer authentication-schemes", ""},
		"BasicProse":        {"a: Basic " + base64.StdEncoding.EncodeToString([]byte("bird of prey")), ""},
		"LongNumber":        {"a: '12345678901234567890123456789012'", ""},
		"Words":             {"a: a-very-long-name-of-an-object-in-kubernetes-2", ""},
		"Logo":              {"logo: iVBORw0KGgo" + strings.Repeat("q7Xv2LkP", 100), ""},
		"Prose":             {"description: 'Password: must have at least eight characters'", ""},
		"Script":            {"script: " + quoted("PASSWORD=$(cat /x)\ntoken=\"$TOKEN\"\nlocal pass=$1\n"), ""},
		"Comment":           {"config: " + quoted("# password: hunter2\n"), ""},
		"NginxLog":          {"log: 'token=$http_token'", ""},
		"Mapping":           {"config: " + quoted("password: db-password\n"), ""},
		"NoSecret":          {"args: [--token-ttl=5m, --port=8080]", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := map[string]any{}
			if err := yaml.Unmarshal([]byte(tc.values), &tree); err != nil {
				t.Fatal(err)
			}
			what := ""
			for _, f := range Credentials(tree, nil) {
				what += f.What
			}
			if what != tc.what {
				t.Errorf("%s: %q, want %q", tc.values, what, tc.what)
			}
		})
	}
}

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// TestCredentialPaths: findings have the paths of the values, in order, and allowed paths are left out.
func TestCredentialPaths(t *testing.T) {
	t.Parallel()
	tree := map[string]any{
		"b": []any{[]any{map[string]any{"password": "a"}}, map[string]any{"token": []any{"x", "y"}}}, "a.b": map[string]any{"passwd": 7.0}, "c": map[string]any{"password": "x"},
	}
	var paths []string
	for _, f := range Credentials(tree, func(path []string) bool { return path[0] == "c" }) {
		paths = append(paths, strings.Join(f.Path, "|"))
	}
	if diff := cmp.Diff([]string{"a.b|passwd", "b[0][0]|password", "b[1]|token[0]", "b[1]|token[1]"}, paths); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCredentialLimits: the numbers of findings and of paths that may be allowed are limited.
func TestCredentialLimits(t *testing.T) {
	t.Parallel()
	tree := map[string]any{}
	for i := range maxAsked + maxFindings + 7 {
		tree[fmt.Sprintf("%d-password", i)] = "x"
	}
	asked := 0
	if n := len(Credentials(tree, nil)); n != maxFindings {
		t.Errorf("%d findings", n)
	}
	if n := len(Credentials(tree, func([]string) bool { asked++; return true })); n != maxFindings || asked != maxAsked {
		t.Errorf("%d findings, %d asked", n, asked)
	}
}

// TestCredentialTables: docs/spec/policies.md lists the names and forms.
func TestCredentialTables(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/spec/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	var forms []string
	for _, f := range prefixes() {
		forms = append(forms, f.prefix)
	}
	for row, want := range map[string][]string{
		"names of credentials": names(), "names of keys": weakNames(), "names of references": references(),
		"names of what only looks random": identities(), "starts of tokens": forms, "marks of references": append(marks(), schemes()...), "settings": settingWords(),
	} {
		_, cells, found := strings.Cut(string(page), "\n| "+row+" | ")
		cells, _, _ = strings.Cut(cells, " |\n")
		var got []string
		for i, part := range strings.Split(cells, "`") {
			if i%2 == 1 {
				got = append(got, part)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || !found {
			t.Errorf("%s (-code +page):\n%s\n| %s | `%s` |", row, diff, row, strings.Join(want, "`, `"))
		}
	}
}

// TestCostlyCredentials: no text takes a time that is not about linear in its size, which would exceed
// the time limit of the suite.
func TestCostlyCredentials(t *testing.T) {
	t.Parallel()
	size := 8 << 20
	if testing.Short() {
		size = 1 << 18
	}
	for _, unit := range []string{
		"eyJ", "-eyJ", ".eyJ", "eyJaaaaaaaaaaaaaaaaaaaa.", "://", "://a:", "://a:b@", "-----BEGIN ", "Basic ", "Bearer ", "Basic YWFh", "AKIA", "password=", "password: ", "a=b;", "=", "{", ",", "AAAA",
		"password=a ", "a ", "${", "\n",
	} {
		text := strings.Repeat(unit, size/len(unit))
		Credentials(map[string]any{"a": text, "password": text, text: text}, nil)
		Credentials(map[string]any{"a": base64.StdEncoding.EncodeToString([]byte(text))}, nil)
	}
}

// FuzzCredentials: a password under a name of the table is found at any place and in any form of a
// document, the same in each run, and a finding never has the value.
func FuzzCredentials(f *testing.F) {
	f.Add("hunter2", "a", "b: c")
	f.Add("-----BEGIN PRIVATE KEY-----", "env[0]", "eyJ.eyJ.eyJ")
	f.Add("://a:b@c", "=", "Basic YTpi")
	f.Fuzz(func(t *testing.T, password, name, text string) {
		tree := map[string]any{"c": text, "d": name + "=" + text, "a" + name: []any{map[string]any{"password": password, "b": text}}}
		found := Credentials(tree, nil)
		again := Credentials(tree, nil)
		if diff := cmp.Diff(found, again); diff != "" {
			t.Error(diff)
		}
		is := slices.ContainsFunc(found, func(f Finding) bool { return f.Path[len(f.Path)-1] == "password" })
		trimmed := strings.TrimSpace(password)
		if want := trimmed != "" && !isReference(trimmed) && !isSetting(trimmed) && !keyOf("a"+name).reference; want && !is {
			t.Errorf("%q below %q is not found", password, name)
		}
		for _, f := range found {
			if strings.Contains(f.What, text) && len(text) > 40 {
				t.Errorf("%q", f.What)
			}
		}
	})
}

// BenchmarkCredentials: the values of a large chart.
func BenchmarkCredentials(b *testing.B) {
	tree := map[string]any{}
	for i := range 500 {
		tree[fmt.Sprintf("part%d", i)] = map[string]any{
			"enabled": true, "replicas": 2.0, "image": "example.com/web:1.2.3", "passwordSecretRef": map[string]any{"name": "db", "key": "password"},
			"config": "set -e\nexec web --port=8080 --log=info\n",
		}
	}
	for b.Loop() {
		if len(Credentials(tree, nil)) > 0 {
			b.Fatal("found")
		}
	}
}
