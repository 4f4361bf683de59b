// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// AKSCluster is the name of an Azure cluster. AzureTenant and AzureClient may access it.
const (
	AKSCluster  = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/group/providers/Microsoft.ContainerService/managedClusters/far"
	AzureTenant = "aaaaaaaa-0000-0000-0000-000000000001"
	AzureClient = "bbbbbbbb-0000-0000-0000-000000000002"
)

// GKECluster is the name of a Google cluster. GCPProvider accepts tokens of ServiceAccounts, and
// GCPAccount is the account that they impersonate.
const (
	GKECluster  = "projects/project/locations/europe-west1/clusters/far"
	GCPProvider = "projects/1234/locations/global/workloadIdentityPools/pool/providers/here"
	GCPAccount  = "tenant@project.iam.gserviceaccount.com"
)

const managementToken = "management-token-of-azure-0123456789"

func (c *Clouds) serveAzure(w http.ResponseWriter, r *http.Request, trouble int) {
	path := strings.ToLower(r.URL.Path)
	login := "https://login.microsoftonline.com/" + AzureTenant
	switch {
	case strings.HasSuffix(path, "/discovery/instance"):
		reply(w, http.StatusOK, map[string]any{"tenant_discovery_endpoint": login + "/v2.0/.well-known/openid-configuration", "metadata": []any{
			map[string]any{"preferred_network": "login.microsoftonline.com", "preferred_cache": "login.windows.net", "aliases": []string{"login.microsoftonline.com"}},
		}})
	case strings.HasSuffix(path, "/openid-configuration"):
		reply(w, http.StatusOK, map[string]any{
			"token_endpoint": login + "/oauth2/v2.0/token", "authorization_endpoint": login + "/oauth2/v2.0/authorize", "issuer": login + "/v2.0",
		})
	case trouble != 0 && strings.HasSuffix(path, "/token"):
		reply(w, trouble, map[string]any{
			"error":             "unauthorized_client",
			"error_description": "AADSTS700016: not for " + r.FormValue("client_assertion") + ". Trace ID: " + rand.Text() + " Timestamp: " + time.Now().String(),
		})
	case trouble != 0:
		reply(w, trouble, map[string]any{"error": map[string]any{"code": "AuthorizationFailed", "message": "not you"}})
	case strings.HasSuffix(path, "/token"):
		c.azureToken(w, r)
	case r.Header.Get("Authorization") != "Bearer "+managementToken:
		http.Error(w, "that token is for something else", http.StatusUnauthorized)
	case path == strings.ToLower(AKSCluster):
		reply(w, http.StatusOK, map[string]any{"name": "far", "properties": map[string]any{"aadProfile": map[string]any{"managed": true}}})
	case path == strings.ToLower(AKSCluster)+"/listclusterusercredential":
		reply(w, http.StatusOK, map[string]any{"kubeconfigs": []any{map[string]any{"name": "far", "value": c.aksKubeconfig()}}})
	default:
		reply(w, http.StatusNotFound, map[string]any{"error": map[string]any{"code": "ResourceNotFound", "message": "The Resource was not found."}})
	}
}

func (c *Clouds) azureToken(w http.ResponseWriter, r *http.Request) {
	token := r.FormValue("client_assertion")
	if err := isFor(token, "api://AzureADTokenExchange"); err != nil || r.FormValue("client_id") != AzureClient {
		http.Error(w, fmt.Sprintf("client %s: %v", r.FormValue("client_id"), err), http.StatusForbidden)
		return
	}
	access := c.Cluster.Token
	if strings.Contains(r.FormValue("scope"), "management") {
		access = managementToken
	}
	c.secret(token, managementToken)
	reply(w, http.StatusOK, map[string]any{"token_type": "Bearer", "expires_in": 3599, "ext_expires_in": 3599, "access_token": access})
}

func (c *Clouds) aksKubeconfig() string {
	raw, _ := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "far",
		"clusters": []any{map[string]any{"name": "far", "cluster": map[string]any{
			"server": c.Cluster.Address, "certificate-authority-data": base64.StdEncoding.EncodeToString(c.Cluster.CA),
		}}},
		"contexts": []any{map[string]any{"name": "far", "context": map[string]any{"cluster": "far", "user": "u"}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{"exec": map[string]any{"command": "kubelogin", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "IfAvailable"}}}},
	})
	return base64.StdEncoding.EncodeToString(raw)
}

func (c *Clouds) serveGCP(w http.ResponseWriter, r *http.Request, trouble int) {
	service, _, _ := strings.Cut(r.Host, ".")
	switch {
	case trouble != 0 && service == "sts":
		reply(w, trouble, map[string]any{"error": "invalid_grant", "error_description": "not for " + r.FormValue("subject_token")})
	case trouble != 0:
		reply(w, trouble, map[string]any{"error": map[string]any{"code": trouble, "message": "not you", "status": "PERMISSION_DENIED"}})
	case service == "sts":
		token := r.FormValue("subject_token")
		if err := isFor(token, "//iam.googleapis.com/"+GCPProvider); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		federated := "ya29.federated-" + rand.Text()
		c.secret(token, federated)
		reply(w, http.StatusOK, map[string]any{
			"access_token": federated, "issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "token_type": "Bearer", "expires_in": 3600,
		})
	case service == "iamcredentials" && strings.HasSuffix(r.URL.Path, "/"+GCPAccount+":generateAccessToken") && strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ya29.federated-"):
		reply(w, http.StatusOK, map[string]any{"accessToken": c.Cluster.Token, "expireTime": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	case service == "container" && r.URL.Path == "/v1/"+GKECluster && r.Header.Get("Authorization") == "Bearer "+c.Cluster.Token:
		// Google omits the scheme, and the port if it is the default one.
		reply(w, http.StatusOK, map[string]any{
			"endpoint":   strings.TrimPrefix(c.Cluster.Address, "https://"),
			"masterAuth": map[string]any{"clusterCaCertificate": base64.StdEncoding.EncodeToString(c.Cluster.CA)},
		})
	default:
		reply(w, http.StatusNotFound, map[string]any{"error": map[string]any{"code": 404, "message": "Not found: " + r.URL.Path, "status": "NOT_FOUND"}})
	}
}

// isFor checks only the audience of a ServiceAccount's token.
func isFor(token, audience string) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return errors.New("that is no token")
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return err
	}
	var claims struct {
		Audience []string `json:"aud"`
		Subject  string   `json:"sub"`
	}
	if err := json.Unmarshal(raw, &claims); err != nil {
		return err
	}
	if !slices.Equal(claims.Audience, []string{audience}) || !strings.HasPrefix(claims.Subject, "system:serviceaccount:") {
		return fmt.Errorf("it is of %s, for %v", claims.Subject, claims.Audience)
	}
	return nil
}

func reply(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
