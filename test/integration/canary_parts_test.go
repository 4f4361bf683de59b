// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Passwords in structured Secrets. Each occurs nowhere else. The last ones are in a Secret that a
// chart renders.
const (
	yamlCanary   = "Ka3YamlHeronBv91Tr"
	jsonCanary   = "Lw8JsonEgretNc42Ys"
	envCanary    = "Mz5EnvStorkPd73Gh"
	linkCanary   = "Qb6LinkGooseRf28Jk"
	signCanary   = "Sv1SignSwiftTg64Lm"
	loginCanary  = "Uh9LoginRobinVj57Np"
	ownYAMLPart  = "Wq2OwnYamlRavenXl39Zd"
	ownLinkPart  = "Fc7OwnLinkPlovrEb85At"
	notTheSecret = "not-the-secret-of-the-chart"
)

// structured has one document for each format. All of them are values of a release.
func structured() map[string]string {
	auth := base64.StdEncoding.EncodeToString([]byte("bird:" + loginCanary))
	return map[string]string{
		"yaml": "db:\n  host: db.example.com\n  password: " + yamlCanary + "\n", "json": `{"db":{"password":"` + jsonCanary + `"},"mode":"none"}`,
		"env": "MODE=true\nPASSWORD=" + envCanary + "\n", "link": "postgres://bird:" + linkCanary + "@db.example.com/app?sslmode=require&sig=" + signCanary,
		"login": `{"auths":{"registry.example.com":{"auth":"` + auth + `"}}}`,
	}
}

// TestCanaryInParts: messages that quote only a part of a structured Secret do not show it, and
// common words stay.
func TestCanaryInParts(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	data := map[string][]byte{}
	for key, text := range structured() {
		data[key] = []byte(text)
	}
	w.secret("structured", data, nil)
	for _, value := range []string{yamlCanary, jsonCanary, envCanary, linkCanary, signCanary, loginCanary, ownYAMLPart, ownLinkPart} {
		suite.canaries.Add("a canary of TestCanaryInParts", value)
	}
	usual := func(hr *helmv2.HelmRelease) {
		for key := range data {
			hr.Spec.ValuesFrom = append(hr.Spec.ValuesFrom, helmv2.ValuesReference{Kind: "Secret", Name: "structured", ValuesKey: key, TargetPath: key, Literal: true})
		}
	}

	// Templates take a document apart, and fail with a part of it.
	for name, template := range map[string]string{
		"yaml": `{{ fail (printf "it is true: %s" (fromYaml .Values.yaml).db.password) }}`, "json": `{{ fail (printf "it is true: %q" (fromJson .Values.json).db.password) }}`,
		"env":   `{{ fail (printf "it is true: %s" (regexFind "[^=]+$" (trim .Values.env))) }}`,
		"link":  `{{ with urlParse .Values.link }}{{ fail (printf "it is true: %s %s" .userinfo .query) }}{{ end }}`,
		"login": `{{ range (fromJson .Values.login).auths }}{{ fail (printf "it is true: %s" (b64dec .auth)) }}{{ end }}`,
		"again": `{{ fail (printf "it is true: %s" ((fromYaml .Values.yaml).db.password | print "x" | b64enc)) }}`,
	} {
		w.publish(name, "1.0.0", pack(t, "bird", "1.0.0", map[string]string{"templates/a.yaml": template}))
		w.untilSays(w.release(name, nil, usual), helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInstallFailed, "it is true", "***")
	}

	// A webhook quotes a part of what it denies, from a Secret of the chart and from its values.
	w.publish("denied", "1.0.0", pack(t, "bird", "1.0.0", map[string]string{
		"templates/a.yaml": cm + "data: {k: {{ (fromYaml .Values.yaml).db.password }}}\n",
		"templates/b.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  app.yaml: |\n    db: {password: " + ownYAMLPart + ", note: " + notTheSecret + "}\n  url: amqp://bird:" + ownLinkPart + "@mq.example.com\n",
	}))
	w.denyWith(partsOf, admissionregistrationv1.Create)
	hr := w.release("denied", nil, usual)
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonDryRunDenied, "not like this", "***")
	w.untilEventText(hr, "not like this")
	w.allow()
	w.noCanary()
}

// partsOf returns the passwords in an object, without the document that has them.
func partsOf(object string) string {
	var o struct {
		Data map[string]string `json:"data"`
	}
	if err := json.Unmarshal([]byte(object), &o); err != nil {
		return http.StatusText(http.StatusBadRequest)
	}
	var found []string
	for _, value := range o.Data {
		if raw, err := base64.StdEncoding.DecodeString(value); err == nil {
			value += string(raw)
		}
		for _, part := range []string{yamlCanary, ownYAMLPart, ownLinkPart} {
			if strings.Contains(value, part) {
				found = append(found, part)
			}
		}
	}
	return fmt.Sprintf("it has %q", found)
}
