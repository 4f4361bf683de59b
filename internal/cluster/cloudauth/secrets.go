// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cloudauth

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/fluxcd/pkg/auth"
)

// secrets are what must not be told, gathered as they are met.
type secrets struct{ texts []string }

func (s *secrets) add(texts ...string) {
	for _, text := range texts {
		// Less would be found in any text.
		if len(text) >= 8 {
			s.texts = append(s.texts, text, url.QueryEscape(text))
		}
	}
}

func (s *secrets) hide(token auth.Token) {
	if config, ok := token.(*auth.RESTConfig); ok {
		s.add(config.BearerToken)
		return
	}
	texts, _ := inside(token)
	s.add(texts...)
}

// redact takes out what was gathered, and what looks like a token although nobody
// gathered it, such as one that a cloud repeats.
func (s *secrets) redact(text string) string {
	for _, secret := range s.texts {
		text = strings.ReplaceAll(text, secret, hiddenText)
	}
	return tokens().ReplaceAllString(text, hiddenText)
}

const hiddenText = "[hidden]"

// tokens finds JSON Web Tokens, and the tokens of EKS and of Google.
func tokens() *regexp.Regexp {
	return regexp.MustCompile(`eyJ[\w-]{8,}\.[\w.-]+|k8s-aws-v1\.[\w-]+|ya29\.[\w.-]+`)
}
