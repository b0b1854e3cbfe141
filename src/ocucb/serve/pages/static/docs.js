// The calls to look at and to try out, from the schema of this server; nothing comes from elsewhere.
window.ui = SwaggerUIBundle({ url: "/openapi.json", dom_id: "#calls", validatorUrl: null, deepLinking: true });
