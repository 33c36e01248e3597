// `oidc-provider` as its documentation begins: its own pages for development, its own store in
// memory, and one client.

import Provider from 'oidc-provider';

const port = process.argv[2];
const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [
        {
            client_id: 'bench',
            client_secret: 'the secret of the bench',
            redirect_uris: ['http://127.0.0.1:9/home'],
            token_endpoint_auth_method: 'client_secret_post',
        },
    ],
});
provider.listen(port, '127.0.0.1');
